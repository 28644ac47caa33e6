#include "core/driver/Claims.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel {
inline namespace v1 {

using Claims = detail::TimeoutKeeper::Claims;

Claim::Claim(detail::TimeoutKeeper& keeper) noexcept : keeper_{&keeper} {}

Claim::Claim(Claim const& other) noexcept : keeper_{other.keeper_} {
    if (keeper_ != nullptr) Claims::copy(*keeper_);
}

Claim::~Claim() {
    if (keeper_ != nullptr) Claims::drop(*keeper_);
}

void Claim::operator()() noexcept {
    if (keeper_ != nullptr) Claims::run(*std::exchange(keeper_, nullptr));
}

}  // namespace v1
}  // namespace timingwheel
