#include "components/kafka/daemon/ActiveOptions.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace timingwheel::inline v1::kafka {

namespace {

bool mayBeSecret(std::string const& setting) {
    static constexpr char const* kParts[] = {"password", "secret", "key",   "token",
                                             "jaas",     "pem",    "config"};
    return std::any_of(std::begin(kParts), std::end(kParts), [&setting](char const* part) {
        return setting.find(part) != std::string::npos;
    });
}

std::string joined(std::vector<std::string> const& words, char const* separator) {
    std::string all;
    for (std::string const& word : words) all += (all.empty() ? "" : separator) + word;
    return all;
}

}  // namespace

std::map<std::string, std::string> activeOptions(CLI::App const& app, Options const& options) {
    std::map<std::string, std::string> active;
    auto const isGroup = [](CLI::App const* each) { return each->get_name().empty(); };
    auto const isNoHelp = [](CLI::Option const* each) { return each->get_configurable(); };
    for (CLI::App const* const group : app.get_subcommands(isGroup))
        for (CLI::Option const* const option : group->get_options(isNoHelp))
            active[option->get_single_name()] =
                option->count() > 0 ? joined(option->results(), ",") : option->get_default_str();
    active["targets"] = joined(options.targets, ",");
    active.erase("librdkafka");
    for (auto const& [name, value] : options.librdkafka)
        active["librdkafka." + name] = mayBeSecret(name) ? "***" : value;
    return active;
}

std::string inOneLine(std::map<std::string, std::string> const& options) {
    std::vector<std::string> words;
    for (auto const& [name, value] : options) words.push_back(name + "=" + value);
    return joined(words, " ");
}

}  // namespace timingwheel::inline v1::kafka
