#include "core/driver/lock/Lock.h"

namespace timingwheel::inline v1::detail {

/// The favoured thread takes the mutex as well while the bias is revoked.
void Lock::lockBiased() noexcept {
    if (bias_.enter()) return;
    mutex_.lock();
    bias_.revokeUnlessFavourite();
}

void Lock::unlockBiased() noexcept {
    if (!bias_.leave()) mutex_.unlock();
}

/// The favoured thread may have locked it without the mutex. Lets others in between.
void Lock::holdMutex() noexcept {
    if (!bias_.leave()) return;
    mutex_.lock();
    bias_.revoke();
}

}  // namespace timingwheel::inline v1::detail
