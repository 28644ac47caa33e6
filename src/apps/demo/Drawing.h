#pragma once

#include "apps/demo/Picture.h"
#include "apps/demo/Terminal.h"

#include <string>
#include <vector>

namespace demo {

/// Draws a picture in lines that fit the size, with only what the terminal can show.
///
/// The levels are stacked, the finest at the bottom: timeouts fall. A slot is a bar as high as its
/// bucket is full. If several slots share a cell, the bar shows the fullest. With few rows the bars
/// become lower, then levels become lines.
std::vector<std::string> draw(Picture const& picture, Terminal::Size size,
                              Terminal::Abilities abilities);

}  // namespace demo
