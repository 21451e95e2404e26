#pragma once

#include "tandem/v1/host.pb.h"

namespace tandem::trainer {

// Every device that the libraries beside this program find, and why a library finds none. For a
// process that does nothing else: drivers stay loaded.
v1::ProbeReport ProbeHost();

// Prints it as JSON, also fields that are 0 or empty. Returns an exit status: 0.
int PrintProbeReport();

}  // namespace tandem::trainer
