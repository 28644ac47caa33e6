#include "core/driver/lock/Lock.h"

namespace timingwheel {
inline namespace v1 {
namespace detail {

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
