// Objects that others own when a timeout expires.

#pragma once

namespace timingwheel::test {

/// Counts how often it expired.
struct OwnedObject {
    void expire() { ++expirations; }
    int expirations = 0;
};

/// Holds the handle, or owner, of a timeout whose task owns it. Made by `new`, so that its memory
/// does not wait for the last weak_ptr.
template <class Holder>
struct OwnedByItsTask {
    Holder timeout;
};

}  // namespace timingwheel::test
