#include "driver/TimeoutKeeper.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel {
inline namespace v1 {

Claim::Claim(detail::TimeoutKeeper& keeper) noexcept : keeper_{&keeper} {}

Claim::Claim(Claim const& other) noexcept : keeper_{other.keeper_} {
    if (keeper_ != nullptr) keeper_->copyClaim();
}

Claim::~Claim() {
    if (keeper_ != nullptr) keeper_->dropClaim();
}

void Claim::operator()() noexcept {
    if (keeper_ != nullptr) std::exchange(keeper_, nullptr)->runClaim();
}

}  // namespace v1
}  // namespace timingwheel
