#include "worker/model/seed.h"

#include <mutex>

#include "ATen/CPUGeneratorImpl.h"

namespace tandem::model {

void SeedDefaultGenerator(uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

uint64_t NextDraw() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::get_generator_or_default<at::CPUGeneratorImpl>(generator, generator)->random64();
}

uint64_t FirstDraw() {
  at::Generator copy = at::detail::getDefaultCPUGenerator().clone();
  return at::get_generator_or_default<at::CPUGeneratorImpl>(copy, copy)->random64();
}

}  // namespace tandem::model
