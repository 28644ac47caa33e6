#include "core/driver/keeper/ExecutorClaims.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel::inline v1 {

using ExecutorClaims = detail::ExecutorClaims;

Claim::Claim(detail::Keeper& keeper) noexcept : keeper_{&keeper} {}

Claim::Claim(Claim const& other) noexcept : keeper_{other.keeper_} {
    if (keeper_ != nullptr) ExecutorClaims::copy(*keeper_);
}

Claim::~Claim() {
    if (keeper_ != nullptr) ExecutorClaims::drop(*keeper_);
}

void Claim::operator()() noexcept {
    if (keeper_ != nullptr) ExecutorClaims::run(*std::exchange(keeper_, nullptr));
}

}  // namespace timingwheel::inline v1
