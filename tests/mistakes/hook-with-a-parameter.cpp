// A hook whose function wants an argument.
// says: a TimerHook calls a member function without parameters
#include <timingwheel/TimerHook.h>

struct Connection {
    void close(int reason);
    timingwheel::TimerHook<&Connection::close> idle{*this};
};

Connection connection;
