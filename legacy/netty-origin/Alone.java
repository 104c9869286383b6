import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** A stream that has a channel for itself: a connection, or one that a codec makes for it. */
abstract class Alone extends ChannelInboundHandlerAdapter implements Stream {
    final Server server;
    final Log.Connection known;
    ChannelHandlerContext client;
    Forward forward; // null until something is asked for

    Alone(Server server, Log.Connection known) {
        this.server = server;
        this.known = known;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        client = context;
    }

    @Override
    public void flush() {
        client.flush();
    }

    @Override
    public boolean writable() {
        return client.channel().isWritable();
    }

    @Override
    public void fail() {
        client.close();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (forward != null) {
            forward.pace();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (forward != null) {
            forward.cancel();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close(); // a client that leaves is no fault of ours
    }
}
