#pragma once

namespace tandem::ddp {

// For the first lines of main, before there is a thread. Keeps c10d from
//  - looking up the name of every address it meets, which takes seconds where no name server
//    answers: from now on this process resolves no names, numeric addresses and /etc/hosts
//    excepted;
//  - telling each failure on stderr, stack included, before it is returned as a status. Setting
//    TORCH_CPP_LOG_LEVEL brings that back.
void PrepareProcessForC10d();

}  // namespace tandem::ddp
