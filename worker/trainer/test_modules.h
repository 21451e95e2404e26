#pragma once

#include <string>

// TorchScript files for tests, as a Python program would save them.
namespace tandem::trainer {

// Five features to three scores, through `weight`. `spare` is a parameter that no forward uses, and
// `rare` one that is added only where the first feature of the first sample is above 5.
void SaveModuleWithRareParameters(const std::string& path);

// The same scores; its buffer `runs` counts the forwards.
void SaveCountingModule(const std::string& path);

// The same scores, through an operator (max_unpool2d) that has no deterministic kernel.
void SaveNondeterministicModule(const std::string& path);

}  // namespace tandem::trainer
