package compare;

import java.util.Map;

/** One measurement that is asked for: the options of main.cpp. */
public record Request(String contender, String load, int count, int threads, int tickMillis,
                      long budgetNanos, String delays, long seed) {

    public static Request parse(String line) {
        var options = new java.util.HashMap<>(Map.of(
                "contender", "", "load", "", "count", "1000", "threads", "1", "tick-us", "1000",
                "budget-ms", "100", "delays", "random", "seed", "1"));
        String[] words = line.trim().split("\\s+");
        for (int i = 0; i < words.length; ++i) {
            String name = words[i].replaceFirst("^--", "");
            if (options.put(name, words[++i]) == null) {
                throw new IllegalArgumentException("there is no option " + name);
            }
        }
        return new Request(options.get("contender"), options.get("load"),
                Integer.parseInt(options.get("count")), Integer.parseInt(options.get("threads")),
                Integer.parseInt(options.get("tick-us")) / 1_000,
                Long.parseLong(options.get("budget-ms")) * 1_000_000,
                options.get("delays"),
                Long.parseLong(options.get("seed")));
    }
}
