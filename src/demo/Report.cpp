#include "demo/Report.h"

#include "demo/Format.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace demo {

namespace {

using std::chrono::nanoseconds;
using Style = Terminal::Style;
using timingwheel::LatenessHistogram;

std::string ledgerRow(char const* name, Account const& account) {
    auto const column = [](std::uint64_t number) { return text("%11s", grouped(number).c_str()); };
    return text("   %-17s", name) + column(account.accepted) + column(account.run) +
           column(account.cancelled) + column(account.rejected) + column(account.returned);
}

std::string verdict(Terminal const& terminal, bool isGood, char const* good, char const* bad) {
    return terminal.styled(isGood ? Style::good : Style::bad, isGood ? good : bad);
}

/// Rows of a histogram: an octave each, from the first to the last that is not empty.
struct Octave {
    nanoseconds upTo;
    std::uint64_t count;
};

std::vector<Octave> octavesOf(LatenessHistogram const& histogram) {
    // A bucket belongs to the octave below the power of two that is just above it.
    std::vector<Octave> octaves;
    for (std::size_t bucket = 0; bucket < LatenessHistogram::kBuckets; ++bucket) {
        auto const upper =
            static_cast<std::uint64_t>(LatenessHistogram::upperBound(bucket).count());
        // The highest octave ends with the largest number there is.
        auto const end = static_cast<std::int64_t>(std::bit_ceil(upper + 1) - 1);
        if (octaves.empty() || octaves.back().upTo.count() != end)
            octaves.push_back({nanoseconds{end}, 0});
        octaves.back().count += histogram.counts()[bucket];
    }
    auto const isFull = [](Octave const& octave) { return octave.count > 0; };
    octaves.erase(std::find_if(octaves.rbegin(), octaves.rend(), isFull).base(), octaves.end());
    octaves.erase(octaves.begin(), std::find_if(octaves.begin(), octaves.end(), isFull));
    return octaves;
}

/// One row for all octaves below the last `most`.
void mergeFirst(std::vector<Octave>& octaves, std::size_t most) {
    while (octaves.size() > most) {
        octaves[1].count += octaves[0].count;
        octaves.erase(octaves.begin());
    }
}

std::string percent(double fraction) {
    return text("%.*f %%", fraction < 0.1 ? 1 : 0, fraction * 100);
}

}  // namespace

void reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal) {
    terminal.line(terminal.heading("3  What became of every timeout, and what it cost"));
    terminal.line();
    terminal.line(terminal.styled(
        Style::dim,
        "   the program's ledger accepted =     run + cancelled + rejected + returned*"));
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        terminal.line(
            ledgerRow(nameOf(static_cast<Kind>(kind)), ledger.account(static_cast<Kind>(kind))));
    terminal.line(terminal.heading(ledgerRow("all", ledger.total())));
    terminal.line(ledgerRow("timer's own count", accountOf(load.statistics)));
    terminal.line();
    terminal.line("   " + verdict(terminal, ledger.isBalanced(), "balances", "DOES NOT BALANCE") +
                  ", " +
                  verdict(terminal, ledger.agreesWith(load.statistics), "agrees", "DISAGREES") +
                  " with the timer's statistics; * by stop(), while pending");
    terminal.line("   Heartbeats were pushed back " + grouped(ledger.pushBacks()) +
                  " times. Periodic jobs ran " + grouped(ledger.periodicRuns()));
    terminal.line("   times; each counts once, when it ends.");
    terminal.line();
}

void reportLateness(timingwheel::TimerStatistics const& statistics, Terminal& terminal) {
    constexpr std::size_t kMostRows = 14;
    constexpr std::size_t kCells = 40;
    auto const quantile = [&](double fraction) {
        return readable(std::min(statistics.lateness.quantile(fraction), statistics.maxLateness));
    };
    std::vector<Octave> octaves = octavesOf(statistics.lateness);
    if (octaves.empty()) return;
    mergeFirst(octaves, kMostRows);
    std::uint64_t most = 0;
    for (Octave const& octave : octaves) most = std::max(most, octave.count);

    terminal.line(terminal.heading("   How late the tasks began"));
    for (Octave const& octave : octaves) {
        double const share = static_cast<double>(octave.count) / static_cast<double>(most);
        terminal.line(text("   %12s %10s  ", ("< " + readable(octave.upTo)).c_str(),
                           grouped(octave.count).c_str()) +
                      terminal.styled(Style::accent, terminal.bar(share, kCells)));
    }
    terminal.line("   half within " + quantile(0.5) + ", 99 % within " + quantile(0.99) +
                  ", 99.9 % within " + quantile(0.999) + ", all within " +
                  readable(statistics.maxLateness));
    terminal.line();
}

void reportCosts(LoadResult const& load, Terminal& terminal) {
    auto const& statistics = load.statistics;
    std::string cascades;
    for (std::size_t level = 1; level < statistics.cascaded.size(); ++level) {
        if (level > 1) cascades += ", ";
        cascades += text("%zu: ", level) + grouped(statistics.cascaded[level]);
    }
    terminal.line("   Cascades by level left  " + (cascades.empty() ? "none" : cascades));
    terminal.line("   Driver wake-ups         " + grouped(statistics.wakeUps) + " in " +
                  text("%.1f s", toSeconds(load.elapsed)));
    double const elapsed = toSeconds(load.elapsed);
    terminal.line("   CPU of the driver       " + text("%.2f s, ", toSeconds(load.driverCpu)) +
                  percent(toSeconds(load.driverCpu) / elapsed) + " of one core");
    terminal.line("   CPU of the program      " + text("%.2f s, ", toSeconds(load.processCpu)) +
                  percent(toSeconds(load.processCpu) / elapsed) +
                  text(" of one core; there are %u", std::thread::hardware_concurrency()));
}

}  // namespace demo
