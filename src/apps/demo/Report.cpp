#include "apps/demo/Report.h"

#include "apps/demo/Format.h"

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
    auto const column = [](std::uint64_t number, int width) {
        return text("%*s", width, grouped(number).c_str());
    };
    return text("   %-16s", name) + column(account.accepted, 14) + column(account.run, 12) +
           column(account.cancelled, 14) + column(account.rejected, 11) +
           column(account.returned, 10);
}

/// A figure with its name. A long one continues below, broken at its commas.
void fact(Terminal& terminal, char const* name, std::string value) {
    constexpr std::size_t kRoom = 56;
    for (std::size_t end = 0; value.size() > kRoom; value.erase(0, end + 2), name = "") {
        end = value.rfind(", ", kRoom);
        if (end == std::string::npos) break;
        terminal.line(text("   %-18s ", name) + value.substr(0, end + 1));
    }
    terminal.line(text("   %-18s ", name) + value);
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

void reportVerdict(bool isGood, std::string const& good, std::string const& bad,
                   Terminal& terminal) {
    bool const hasUnicode = terminal.hasUnicode();
    if (isGood)
        terminal.line("   " + terminal.styled(Style::good, hasUnicode ? "✓ " : "OK: ") + good);
    else
        terminal.line("   " + terminal.styled(Style::bad, (hasUnicode ? "✗ " : "WRONG: ") + bad));
}

void reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal) {
    terminal.line(terminal.heading("4  What became of every timeout"));
    terminal.line();
    // Each word ends above its figures, so that the heading reads as an equation.
    terminal.line(
        terminal.styled(Style::dim, text("   %-16s%14s =%10s +%12s +%9s +%8s", "counted here",
                                         "accepted", "run", "cancelled", "rejected", "returned")));
    for (std::size_t i = 0; i < kKinds; ++i) {
        auto const kind = static_cast<Kind>(i);
        terminal.line(ledgerRow(nameOf(kind), ledger.account(kind)));
    }
    terminal.line(terminal.heading(ledgerRow("all", ledger.total())));
    terminal.line(ledgerRow("timer's count", accountOf(load.statistics)));
    terminal.line();
    terminal.line(
        "   Returned: by stop(), while pending. Rejected: by a pool whose queue is full.");
    terminal.line("   Periodic jobs ran " + grouped(ledger.periodicRuns()) +
                  " times and count once, when they end.");
    terminal.line("   Heartbeats were pushed back " + grouped(ledger.pushBacks()) + " times.");
    terminal.line();
    reportVerdict(ledger.isBalanced(), "The ledger balances.", "The ledger DOES NOT BALANCE.",
                  terminal);
    reportVerdict(ledger.agreesWith(load.statistics), "The timer's own statistics agree with it.",
                  "The timer's own statistics DISAGREE with it.", terminal);
}

void reportLateness(timingwheel::TimerStatistics const& statistics, Terminal& terminal) {
    constexpr std::size_t kMostRows = 14;
    constexpr std::size_t kCells = 44;
    std::vector<Octave> octaves = octavesOf(statistics.lateness);
    if (octaves.empty()) return;
    mergeFirst(octaves, kMostRows);
    std::uint64_t most = 0;
    for (Octave const& octave : octaves) most = std::max(most, octave.count);

    terminal.line(terminal.heading("3  How late the tasks began, and what it cost"));
    terminal.line();
    terminal.line(terminal.styled(Style::dim, text("   %12s %12s", "lateness", "tasks")));
    for (Octave const& octave : octaves) {
        double const share = static_cast<double>(octave.count) / static_cast<double>(most);
        terminal.line(text("   %12s %12s  ", ("< " + readable(octave.upTo)).c_str(),
                           grouped(octave.count).c_str()) +
                      terminal.styled(Style::accent, terminal.bar(share, kCells)));
    }
    terminal.line();
    auto const quantile = [&](double fraction) {
        return readable(std::min(statistics.lateness.quantile(fraction), statistics.maxLateness));
    };
    fact(terminal, "Within",
         quantile(0.5) + " half, " + quantile(0.99) + " 99 %, " + quantile(0.999) + " 99.9 %, " +
             readable(statistics.maxLateness) + " all");
}

void reportCosts(LoadResult const& load, Terminal& terminal) {
    auto const& statistics = load.statistics;
    std::string cascades;
    for (std::size_t level = 1; level < statistics.cascaded.size(); ++level) {
        if (statistics.cascaded[level] == 0) continue;
        if (!cascades.empty()) cascades += ", ";
        cascades += grouped(statistics.cascaded[level]) + text(" from level %zu", level);
    }
    fact(terminal, "Cascades", cascades.empty() ? "none" : cascades);
    fact(terminal, "Driver wake-ups",
         grouped(statistics.wakeUps) + text(" in %.1f s", toSeconds(load.elapsed)));
    auto const cpu = [&load](nanoseconds used) {
        return text("%.2f s, ", toSeconds(used)) +
               percent(toSeconds(used) / toSeconds(load.elapsed)) + " of one core";
    };
    fact(terminal, "CPU of the driver", cpu(load.driverCpu));
    fact(terminal, "CPU of all",
         cpu(load.processCpu) + text("; there are %u", std::thread::hardware_concurrency()));
}

}  // namespace demo
