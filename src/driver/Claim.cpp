#include "driver/Shard.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel {
inline namespace v1 {

Claim::Claim(detail::Shard& shard) noexcept : shard_{&shard} {}

Claim::Claim(Claim const& other) noexcept : shard_{other.shard_} {
    if (shard_ != nullptr) shard_->copyClaim();
}

Claim::~Claim() {
    if (shard_ != nullptr) shard_->dropClaim();
}

void Claim::operator()() noexcept {
    if (shard_ != nullptr) std::exchange(shard_, nullptr)->runClaim();
}

}  // namespace v1
}  // namespace timingwheel
