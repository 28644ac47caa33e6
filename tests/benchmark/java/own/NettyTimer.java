package compare.own;

import compare.Sink;
import compare.TimerUnderTest;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public final class NettyTimer implements TimerUnderTest {
    private final HashedWheelTimer timer;

    public NettyTimer(int tickMillis) {
        timer = new HashedWheelTimer(tickMillis, TimeUnit.MILLISECONDS, 512);
        timer.start();
    }

    @Override
    public Object schedule(long delayNanos, Sink sink, int id) {
        return timer.newTimeout(timeout -> sink.fired(id), delayNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void cancel(Object token) {
        ((Timeout) token).cancel();
    }

    /** Its queue is emptied in order, cancelled ones first: when this has run, all is done. */
    @Override
    public void settle() throws InterruptedException {
        var reached = new CountDownLatch(1);
        timer.newTimeout(timeout -> reached.countDown(), 0, TimeUnit.NANOSECONDS);
        reached.await();
    }

    @Override
    public long pending() {
        return timer.pendingTimeouts();
    }

    @Override
    public void stop() {
        timer.stop();
    }
}
