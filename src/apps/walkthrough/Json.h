#pragma once

#include "apps/walkthrough/Story.h"

#include <string>

namespace walkthrough {

/// One line of JSON: the stage, the sentences and the whole picture.
std::string toJson(Frame const& frame);

}  // namespace walkthrough
