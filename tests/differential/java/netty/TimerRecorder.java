package differential;

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Does random operations to Netty's own timer and writes down what it did, in the format that
 * NettyTrace.h says.
 *
 * <p>Takes from stdin a line for each trace,
 * `tick ticksPerWheel start maxPending operations bits seed`: the longest ordinary delays are of so
 * many bits, in nanoseconds.
 */
public final class TimerRecorder {
    /** What a task does when it runs: nothing, throw, cancel another, or schedule a new one. */
    private record Plan(String what, int id, long delay) {
        static final Plan NOTHING = new Plan("-", 0, 0);

        @Override
        public String toString() {
            return switch (what) {
                case "then" -> "then:" + id + ":" + delay;
                case "cancel" -> "cancel:" + id;
                default -> what;
            };
        }
    }

    private final class Task implements TimerTask {
        final int id;
        final Plan plan;

        Task(int id, Plan plan) {
            this.id = id;
            this.plan = plan;
        }

        @Override
        public void run(Timeout timeout) {
            HandSetClock.setInsideTask(true);
            try {
                ++runs;
                out.append("run ").append(id).append(' ').append(HandSetClock.now())
                        .append(" expired=").append(timeout.isExpired() ? 1 : 0)
                        .append(" cancel=").append(timeout.cancel() ? 1 : 0);
                appendPending();
                switch (plan.what) {
                    case "throw" -> throw new IllegalStateException("as planned");
                    case "cancel" -> cancel(plan.id);
                    case "then" -> add(plan.id, plan.delay, Plan.NOTHING);
                    default -> { }
                }
            } finally {
                HandSetClock.setInsideTask(false);
            }
        }

        /** Netty 4.2 calls this; 4.1 does not know it, so it overrides nothing there. */
        @SuppressWarnings("all")
        public void cancelled(Timeout timeout) {
            out.append("cancelled ").append(id).append('\n');
        }
    }

    private static final int FLUSHED_AT = 1 << 16;
    private static final Logger LOGGER = Logger.getLogger("io.netty");

    private final OutputStream stdout;
    // The worker writes too, while this thread waits for it.
    private final StringBuilder out = new StringBuilder();

    private final long tick;
    private final int ticksPerWheel;
    private final int bits;
    private final long maxPending;
    private final SplittableRandom random;
    private final HashedWheelTimer timer;

    private final List<Timeout> timeouts = new ArrayList<>();  // null: rejected, or not yet there
    private final List<Integer> accepted = new ArrayList<>();
    private boolean isStarted;
    private long start;
    private int runs;

    private TimerRecorder(long[] shape, OutputStream stdout) {
        tick = Math.max(shape[0], 1_000_000);
        ticksPerWheel = (int) shape[1];
        start = shape[2];
        maxPending = shape[3];
        bits = (int) shape[5];
        random = new SplittableRandom(shape[6]);
        this.stdout = stdout;
        HandSetClock.begin(start, tick);
        timer = new HashedWheelTimer(HandSetClock::workerOf, shape[0], TimeUnit.NANOSECONDS,
                ticksPerWheel, false, maxPending);
        out.append("config tick=").append(shape[0]).append(" ticksPerWheel=").append(ticksPerWheel)
                .append(" start=").append(start).append(" maxPending=").append(maxPending)
                .append(" hooks=").append(hasHooks() ? 1 : 0).append('\n');
    }

    private static boolean hasHooks() {
        for (var method : TimerTask.class.getMethods())
            if (method.getName().equals("cancelled")) return true;
        return false;
    }

    public static void main(String[] arguments) throws Exception {
        LOGGER.setLevel(Level.OFF);  // tasks throw by intention
        OutputStream stdout = new FileOutputStream(FileDescriptor.out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long[] shape = new long[words.length];
            for (int i = 0; i < words.length; ++i) shape[i] = Long.parseLong(words[i]);
            new TimerRecorder(shape, stdout).record(shape[4]);
        }
    }

    private void record(long operations) throws Exception {
        if (random.nextBoolean()) startNow();
        // So many of a hundred operations move the clock, so many of ten others cancel.
        int moves = 1 + random.nextInt(random.nextBoolean() ? 40 : 4);
        int cancels = random.nextInt(5);
        for (long done = 0; done < operations; ++done) {
            if (random.nextInt(100) < moves) {
                move();
            } else if (random.nextInt(10) < cancels && !accepted.isEmpty()) {
                cancel(anyAccepted());
            } else {
                Plan plan = plan();
                add(newId(), delay(), plan);
            }
            if (out.length() > FLUSHED_AT) write();
        }
        stop();
        out.append("done runs=").append(runs).append('\n');
        write();
    }

    private void write() throws IOException {
        stdout.write(out.toString().getBytes(StandardCharsets.ISO_8859_1));
        out.setLength(0);
    }

    // ---- what is chosen ------------------------------------------------------------------------

    private int newId() {
        timeouts.add(null);
        return timeouts.size() - 1;
    }

    /** Mostly one of the latest: it is likely to be pending still. */
    private int anyAccepted() {
        int among = random.nextBoolean() ? Math.min(accepted.size(), 20) : accepted.size();
        return accepted.get(accepted.size() - 1 - random.nextInt(among));
    }

    private Plan plan() {
        return switch (random.nextInt(12)) {
            case 0 -> new Plan("throw", 0, 0);
            case 1 -> accepted.isEmpty() ? Plan.NOTHING : new Plan("cancel", anyAccepted(), 0);
            case 2, 3 -> new Plan("then", newId(), delay());
            default -> Plan.NOTHING;
        };
    }

    private long delay() {
        return switch (random.nextInt(12)) {
            case 0 -> 0;
            case 1 -> -random.nextLong(3 * tick);
            case 2 -> random.nextLong(tick);
            case 3 -> tick;
            case 4, 5 -> besideATick();
            case 6 -> random.nextInt(20) == 0 ? Long.MIN_VALUE : besideATick();
            case 7 -> random.nextInt(10) == 0 ? Long.MAX_VALUE - random.nextInt(2) : tick / 2;
            case 8, 9 -> random.nextLong(2 * ticksPerWheel * tick);
            default -> random.nextLong(1L << random.nextInt(bits + 1));
        };
    }

    /** Where a tick begins, or 1 ns before or behind. */
    private long besideATick() {
        long elapsed = HandSetClock.now() - start;
        long ticks = elapsed / tick + random.nextInt(2 * ticksPerWheel + 2);
        return ticks * tick - elapsed + random.nextInt(3) - 1;
    }

    /** Where a tick begins, or just before, or anywhere. */
    private long step(long mostTicks) {
        long elapsed = HandSetClock.now() - start;
        long ticks = random.nextLong(mostTicks) + 1;
        long beginning = (elapsed / tick + ticks) * tick - elapsed;
        return switch (random.nextInt(4)) {
            case 0 -> beginning - 1;
            case 1 -> random.nextLong(ticks * tick);
            default -> beginning;
        };
    }

    // ---- what is done to the timer -------------------------------------------------------------

    private void startNow() {
        isStarted = true;
        timer.start();
        out.append("start\n");
    }

    private void add(int id, long delay, Plan plan) {
        String answer = "ok";
        try {
            if (!isStarted) start = HandSetClock.now();
            isStarted = true;
            timeouts.set(id, timer.newTimeout(new Task(id, plan), delay, TimeUnit.NANOSECONDS));
            accepted.add(id);
        } catch (RejectedExecutionException full) {
            answer = "rejected";
        } catch (IllegalStateException stopped) {
            answer = "stopped";
        }
        out.append("new ").append(id).append(' ').append(delay).append(' ').append(plan)
                .append(' ').append(answer);
        if (answer.equals("stopped")) out.append('\n');
        else appendPending();
    }

    private void cancel(int id) {
        Timeout timeout = timeouts.get(id);
        out.append("cancel ").append(id).append(' ').append(timeout.cancel() ? 1 : 0)
                .append(" expired=").append(timeout.isExpired() ? 1 : 0)
                .append(" cancelled=").append(timeout.isCancelled() ? 1 : 0);
        appendPending();
    }

    private void move() throws InterruptedException {
        boolean jumps = random.nextInt(4) == 0;
        long time = HandSetClock.now()
                + step(1L << random.nextInt(jumps ? 13 : random.nextInt(8) + 1));
        out.append(jumps ? "jump " : "advance ").append(time).append('\n');
        if (jumps) HandSetClock.jumpTo(time);
        else HandSetClock.advanceTo(time);
        out.append("end");
        appendPending();
    }

    private void stop() {
        int before = out.length();
        var returned = timer.stop();
        out.setLength(before);  // what is told of cancelled ones now is not compared
        out.append("stop");
        for (int id = 0; id < timeouts.size(); ++id)
            if (returned.contains(timeouts.get(id))) out.append(' ').append(id);
        out.append('\n');
        // With a limit Netty may reject instead: it goes on counting what stop() returned.
        if (maxPending == 0) add(newId(), tick, Plan.NOTHING);
    }

    private void appendPending() {
        out.append(" pending=").append(timer.pendingTimeouts()).append('\n');
    }
}
