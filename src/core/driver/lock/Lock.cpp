#include "core/driver/lock/Lock.h"

#include "core/base/platform/Pause.h"

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {
constexpr int kTries = 100;
constexpr int kPauses = 4;
}  // namespace

/// Whoever has it keeps it for less than a microsecond or two, and a thread that sleeps comes back
/// later than that, to find it taken again. So it tries for a while.
void Lock::lockSlowly() noexcept {
    for (int tries = 0; tries < kTries; ++tries) {
        for (int i = 0; i < kPauses; ++i) pause();
        if (mutex_.try_lock()) return;
    }
    mutex_.lock();
}

/// The thread that it leans to takes the mutex as well while the bias is revoked.
void Lock::lockLeaning() noexcept {
    if (bias_.enter()) return;
    mutex_.lock();
    bias_.revokeUnlessFavourite();
}

void Lock::unlockLeaning() noexcept {
    if (!bias_.leave()) mutex_.unlock();
}

/// The thread that it leans to may have locked it without the mutex. Lets others in between.
void Lock::holdMutex() noexcept {
    if (!bias_.leave()) return;
    mutex_.lock();
    bias_.revoke();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
