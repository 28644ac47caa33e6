package compare.own;

import compare.Machine;
import compare.Request;
import compare.Sink;
import compare.TimerUnderTest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntFunction;

/** The loads of TimerLoads.h in Java; the comments there hold here. */
public final class Loads {
    public static final List<String> NAMES =
            List.of("pair", "curve", "expiry", "burst", "storm", "far", "idle", "late");

    private static final long MILLISECOND = 1_000_000;
    private static final long SECOND = 1_000 * MILLISECOND;
    private static final long MINUTE = 60 * SECOND;

    private Loads() {}

    public static Map<String, Double> run(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        try {
            return measure(make, request);
        } finally {
            // So that nothing is collected in the background while others are measured.
            System.gc();
        }
    }

    private static Map<String, Double> measure(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        return switch (request.load()) {
            case "pair" -> pair(make, request);
            case "curve" -> curve(make, request);
            case "expiry" -> expire(make, request, 10 * MILLISECOND, false);
            case "burst" -> expire(make, request, 1, false);
            case "storm" -> expire(make, request, 1, true);
            case "far", "idle" -> far(make, request);
            case "late" -> late(make, request);
            default -> throw new IllegalArgumentException("there is no load " + request.load());
        };
    }

    private static long[] randomDelays(int n, long from, long to, long seed) {
        return new SplittableRandom(seed).longs(n, from, to).toArray();
    }

    private static long[] sameDelays(int n, long delay) {
        long[] delays = new long[n];
        Arrays.fill(delays, delay);
        return delays;
    }

    private static long[] pendingDelays(Request request) {
        long from = request.delays().equals("shorter") ? 30 * MINUTE : MINUTE;
        return randomDelays(request.count(), from, 60 * MINUTE, request.seed());
    }

    private static long[] freshDelays(int n, Request request, long seed) {
        long to = request.delays().equals("shorter") ? 2 * MINUTE : 60 * MINUTE;
        return randomDelays(n, MINUTE, to, seed);
    }

    /** A timer and the user's tokens. */
    private static final class Filled implements AutoCloseable {
        final Sink sink = new Sink(0, false);
        final TimerUnderTest timer;
        final Object[] tokens;

        Filled(IntFunction<TimerUnderTest> make, Request request, int n) {
            timer = make.apply(request.tickMillis());
            tokens = new Object[n];
        }

        void fill(long[] delays) throws InterruptedException {
            for (int i = 0; i < delays.length; ++i) {
                tokens[i] = timer.schedule(delays[i], sink, i);
            }
            timer.settle();
            expectPending(delays.length);
        }

        void expectPending(long n) {
            long pending = timer.pending();
            if (pending == n) return;
            throw new IllegalStateException(pending + " timers pending instead of " + n);
        }

        @Override
        public void close() throws Exception {
            timer.stop();
        }
    }

    private static long produce(Filled filled, int first, Request request) {
        Object[] tokens = filled.tokens;
        int end = first + request.count();
        long start = System.nanoTime();
        long done = 0;
        do {
            for (int i = first; i < end; ++i) {
                filled.timer.cancel(tokens[i]);
                tokens[i] = filled.timer.schedule(30 * SECOND, filled.sink, 0);
            }
            done += request.count();
        } while (System.nanoTime() - start < request.budgetNanos());
        return done;
    }

    private static Map<String, Double> pair(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        int producers = request.threads();
        int underWay = request.count();
        try (Filled filled = new Filled(make, request, producers * underWay)) {
            filled.fill(sameDelays(producers * underWay, 30 * SECOND));

            long[] start = new long[2];
            var ready = new CyclicBarrier(producers, () -> {
                start[0] = Machine.processCpuNanos();
                start[1] = System.nanoTime();
            });
            long[] pairs = new long[producers];
            List<Thread> threads = new ArrayList<>();
            for (int p = 0; p < producers; ++p) {
                int producer = p;
                threads.add(new Thread(() -> {
                    try {
                        ready.await();
                    } catch (Exception problem) {
                        throw new IllegalStateException(problem);
                    }
                    pairs[producer] = produce(filled, producer * underWay, request);
                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) thread.join();
            filled.timer.settle();

            double elapsed = System.nanoTime() - start[1];
            double used = Machine.processCpuNanos() - start[0];
            filled.expectPending(producers * underWay);
            double sum = Arrays.stream(pairs).sum();
            return Map.of("ns", elapsed / sum, "cpuNs", used / sum);
        }
    }

    /** Schedules and cancels in batches. */
    private static final class Batches {
        private final Filled filled;
        private final Request request;
        private final SplittableRandom random;
        private final Object[] fresh = new Object[256];
        private long elapsed;
        private long operations;

        Batches(Filled filled, Request request) {
            this.filled = filled;
            this.request = request;
            this.random = new SplittableRandom(request.seed() + 1);
        }

        void run(int size) {
            long[] delays = freshDelays(size, request, random.nextLong());
            int[] leaving = random.ints(size, 0, filled.tokens.length).toArray();
            long start = System.nanoTime();
            for (int i = 0; i < size; ++i) {
                fresh[i] = filled.timer.schedule(delays[i], filled.sink, 0);
            }
            if (request.delays().equals("shorter")) {
                for (int i = 0; i < size; ++i) filled.timer.cancel(fresh[i]);
            } else {
                for (int i = 0; i < size; ++i) {
                    filled.timer.cancel(filled.tokens[leaving[i]]);
                    filled.tokens[leaving[i]] = fresh[i];
                    fresh[i] = null;
                }
            }
            elapsed += System.nanoTime() - start;
            operations += size;
        }
    }

    private static Map<String, Double> curve(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        int n = request.count();
        try (Filled filled = new Filled(make, request, n)) {
            filled.fill(pendingDelays(request));
            var batches = new Batches(filled, request);
            long start = System.nanoTime();
            batches.run(1);
            long fitting = request.budgetNanos() / (8 * Math.max(batches.elapsed, 1));
            int largest = Math.max(1, Math.min(n / 4, 256));
            int size = (int) Math.max(1, Math.min(fitting, largest));
            batches.elapsed = batches.operations = 0;
            do {
                batches.run(size);
            } while (System.nanoTime() - start < request.budgetNanos());
            filled.timer.settle();
            filled.expectPending(n);
            return Map.of("ns", (double) batches.elapsed / batches.operations);
        }
    }

    private static Map<String, Double> expire(
            IntFunction<TimerUnderTest> make, Request request, long spread, boolean isStorm)
            throws Exception {
        int n = request.count();
        long[] offsets = randomDelays(n, 0, spread, request.seed());
        for (long lead = 100 * MILLISECOND + n * 500L; lead < MINUTE; lead *= 2) {
            Sink sink = new Sink(n, false);
            var watch = new Machine.ThreadWatch();
            try (Filled filled = new Filled(make, request, n)) {
                long due = System.nanoTime() + lead;
                for (int i = 0; i < n; ++i) {
                    long delay = due + offsets[i] - System.nanoTime();
                    filled.tokens[i] = filled.timer.schedule(Math.max(delay, 0), sink, i);
                }
                boolean isInTime = System.nanoTime() - due < 0 && sink.count() == 0;
                var before = watch.usage();
                Map<String, Double> meanwhile =
                        isStorm ? scheduleMeanwhile(filled, sink, n) : Map.of();
                sink.waitForAll(MINUTE);
                double used = watch.usage().minus(before).cpuNanos();
                if (isInTime) return isStorm ? meanwhile : Map.of("cpuNs", used / n);
            }
        }
        throw new IllegalStateException("scheduling takes longer than a minute");
    }

    /** How long a schedule takes while n timers expire, in microseconds. */
    private static Map<String, Double> scheduleMeanwhile(Filled filled, Sink sink, int n) {
        long[] took = new long[10_000_000];
        int count = 0;
        while (sink.count() == 0) Thread.onSpinWait();
        do {
            long start = System.nanoTime();
            Object token = filled.timer.schedule(60 * MINUTE, filled.sink, 0);
            took[count++] = System.nanoTime() - start;
            filled.timer.cancel(token);
        } while (sink.count() < n && count < took.length);
        Arrays.sort(took, 0, count);
        return Map.of("p99Us", took[(int) (count * 99L / 100)] / 1e3,
                "p999Us", took[(int) (count * 999L / 1000)] / 1e3);
    }

    private static Map<String, Double> far(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        int n = request.count();
        long[] delays = randomDelays(n, 50 * MINUTE, 70 * MINUTE, request.seed());
        var watch = new Machine.ThreadWatch();
        try (Filled filled = new Filled(make, request, n)) {
            long heap = Machine.heapBytesAfterCollection();
            filled.fill(delays);
            Thread.sleep(300);

            long start = System.nanoTime();
            var before = watch.usage();
            Thread.sleep(request.budgetNanos() / MILLISECOND);
            var used = watch.usage().minus(before);
            double seconds = (System.nanoTime() - start) / 1e9;
            // Only now: a collection moves the timers, and what it costs to walk them depends on
            // where they lie.
            double bytes = Machine.heapBytesAfterCollection() - heap;
            return Map.of("bytes", bytes / n, "cpuPercent", used.cpuNanos() / 1e7 / seconds,
                    "wakeUpsPerSecond", used.wakeUps() / seconds);
        }
    }

    private static Map<String, Double> late(IntFunction<TimerUnderTest> make, Request request)
            throws Exception {
        int n = request.count();
        Sink sink = new Sink(n, true);
        try (Filled filled = new Filled(make, request, n)) {
            long[] delays = randomDelays(n, 10 * MILLISECOND,
                    10 * MILLISECOND + request.budgetNanos(), request.seed());
            long[] deadlines = new long[n];
            for (int i = 0; i < n; ++i) {
                deadlines[i] = System.nanoTime() + delays[i];
                filled.tokens[i] = filled.timer.schedule(delays[i], sink, i);
            }
            sink.waitForAll(MINUTE);
            double[] late = new double[n];
            for (int i = 0; i < n; ++i) late[i] = (sink.times()[i] - deadlines[i]) / 1e3;
            Arrays.sort(late);
            double early = Arrays.stream(late).filter(l -> l < 0).count();
            return Map.of("medianUs", late[n / 2], "p99Us", late[(int) (n * 99L / 100)],
                    "earlyPercent", 100 * early / n);
        }
    }
}
