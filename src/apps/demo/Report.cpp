#include "apps/demo/Report.h"

#include "apps/terminal/Format.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace demo {

namespace {

using Style = Terminal::Style;

std::string ledgerRow(char const* name, Account const& account) {
    return text("   %-16s%14s%12s%14s%12s", name, grouped(account.accepted).c_str(),
                grouped(account.run).c_str(), grouped(account.cancelled).c_str(),
                grouped(account.returned).c_str());
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

void reportLatenessAndCosts(LoadResult const& load, Terminal& terminal) {
    auto const& statistics = load.statistics;
    auto const fact = [&terminal](char const* name, std::string const& value) {
        terminal.line(text("   %-18s ", name) + value);
    };
    auto const within = [&](double fraction, char const* whom) {
        auto const most = std::min(statistics.lateness.quantile(fraction), statistics.maxLateness);
        return readable(most) + whom;
    };
    auto const cpu = [&load](std::chrono::nanoseconds used) {
        return text("%.2f s, %.1f %% of one core", toSeconds(used),
                    100 * toSeconds(used) / toSeconds(load.elapsed));
    };
    terminal.line(terminal.heading("3  How late the tasks began, and what it cost"));
    terminal.line();
    fact("Late by at most", within(0.5, " half, ") + within(0.99, " 99 %, ") +
                                within(0.999, " 99.9 %, ") + within(1, " all"));
    fact("Cascades", grouped(std::reduce(statistics.cascaded.begin(), statistics.cascaded.end())));
    fact("Driver wake-ups",
         grouped(statistics.wakeUps) + text(" in %.1f s", toSeconds(load.elapsed)));
    fact("CPU of the driver", cpu(load.driverCpu));
    fact("CPU of all",
         cpu(load.processCpu) + text("; there are %u", std::thread::hardware_concurrency()));
    if (load.calls.heap.count() > 0)
        fact("Heap with a mutex", readable(load.calls.heap) + " a call, the wheel " +
                                      readable(load.calls.wheel) + ", with " +
                                      grouped(load.statistics.returned) + " pending");
}

bool reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal) {
    terminal.line(terminal.heading("4  What became of every timeout"));
    terminal.line();
    // Each word ends above its figures, so that the heading reads as an equation.
    terminal.line(terminal.styled(Style::dim, text("   %-16s%14s =%10s +%12s +%10s", "counted here",
                                                   "accepted", "run", "cancelled", "returned")));
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind)
        terminal.line(ledgerRow(kKindNames[kind], ledger.account(static_cast<Kind>(kind))));
    terminal.line(terminal.heading(ledgerRow("all", ledger.total())));
    terminal.line(ledgerRow("timer's count", accountOf(load.statistics)));
    terminal.line();
    terminal.line("   Returned: by stop(), while pending. Heartbeats were pushed back " +
                  grouped(ledger.pushBacks()));
    terminal.line("   times. Periodic jobs ran " + grouped(ledger.periodicRuns()) +
                  " times and count once.");
    terminal.line();
    reportVerdict(ledger.isBalanced(), "The ledger balances.", "The ledger DOES NOT BALANCE.",
                  terminal);
    reportVerdict(ledger.agreesWith(load.statistics), "The timer's own statistics agree with it.",
                  "The timer's own statistics DISAGREE with it.", terminal);
    return ledger.isBalanced() && ledger.agreesWith(load.statistics);
}

}  // namespace demo
