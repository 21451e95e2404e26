#include "worker/model/seed.h"

#include <mutex>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/Context.h"

namespace tandem::model {
namespace {

void Seed(at::Generator generator, uint64_t seed) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

void SeedDefaultGenerator(uint64_t seed, c10::Device device) {
  Seed(at::detail::getDefaultCPUGenerator(), seed);
  if (!device.is_cpu()) Seed(at::globalContext().defaultGenerator(device), seed);
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
