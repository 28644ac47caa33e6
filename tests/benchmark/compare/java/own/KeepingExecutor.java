package compare.own;

public final class KeepingExecutor extends ExecutorTimer {
    public KeepingExecutor(int tickMillis) {
        super(false);
    }
}
