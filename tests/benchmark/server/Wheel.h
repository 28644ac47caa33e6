#pragma once

#include "Stock.h"

#include <timingwheel/asio/steady_timer.h>

// Stock.h with the timer's type changed, and nothing else.
template <class Owner>
using Wheel = Stock<Owner, timingwheel::asio::steady_timer>;
