import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.spdy.DefaultSpdyDataFrame;
import io.netty.handler.codec.spdy.DefaultSpdyRstStreamFrame;
import io.netty.handler.codec.spdy.DefaultSpdySynReplyFrame;
import io.netty.handler.codec.spdy.SpdyDataFrame;
import io.netty.handler.codec.spdy.SpdyHeaders;
import io.netty.handler.codec.spdy.SpdyHeaders.HttpNames;
import io.netty.handler.codec.spdy.SpdyRstStreamFrame;
import io.netty.handler.codec.spdy.SpdyStreamStatus;
import io.netty.handler.codec.spdy.SpdySynReplyFrame;
import io.netty.handler.codec.spdy.SpdySynStreamFrame;
import io.netty.util.ReferenceCountUtil;
import java.util.HashMap;
import java.util.Map;

/**
 * A connection with SPDY/3.1, behind `SpdySessionHandler`. Streams share it as their answers come:
 * Netty knows their priorities and does not obey them.
 */
final class Spdy extends ChannelInboundHandlerAdapter {
    private final Server server;
    private final Log.Connection known;
    private final Map<Integer, Forward> forwards = new HashMap<>();

    Spdy(Server server, Log.Connection known) {
        this.server = server;
        this.known = known;
    }

    @Override
    public void channelRead(ChannelHandlerContext client, Object frame) {
        if (frame instanceof SpdySynStreamFrame head) {
            open(client, head);
        } else if (frame instanceof SpdyDataFrame body && forwards.containsKey(body.streamId())) {
            forwards.get(body.streamId()).body(body.content(), body.isLast());
        } else if (frame instanceof SpdyRstStreamFrame reset) {
            Forward unwanted = forwards.remove(reset.streamId());
            if (unwanted != null) {
                unwanted.cancel();
            }
        } else {
            ReferenceCountUtil.release(frame);
        }
    }

    private void open(ChannelHandlerContext client, SpdySynStreamFrame head) {
        SpdyHeaders asked = head.headers();
        HttpHeaders headers = Forward.carried(asked);
        headers.set(HttpHeaderNames.HOST, asked.get(HttpNames.HOST));
        forwards.put(head.streamId(), server.ask(known, new One(client, head.streamId()),
                asked.getAsString(HttpNames.METHOD), asked.getAsString(HttpNames.PATH), headers,
                !head.isLast()));
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext client) {
        forwards.values().forEach(Forward::pace);
    }

    @Override
    public void channelInactive(ChannelHandlerContext client) {
        forwards.values().forEach(Forward::cancel);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext client, Throwable cause) {
        client.close();
    }

    private final class One implements Stream {
        private final ChannelHandlerContext client;
        private final int id;

        One(ChannelHandlerContext client, int id) {
            this.client = client;
            this.id = id;
        }

        @Override
        public void begin(int status, HttpHeaders headers) {
            SpdySynReplyFrame head = new DefaultSpdySynReplyFrame(id, false);
            head.headers().set(HttpNames.STATUS, HttpResponseStatus.valueOf(status).toString());
            head.headers().set(HttpNames.VERSION, HttpVersion.HTTP_1_1.text());
            headers.forEach(header -> head.headers().add(header.getKey(), header.getValue()));
            client.write(head);
        }

        @Override
        public void write(ByteBuf part) {
            client.write(new DefaultSpdyDataFrame(id, part));
        }

        @Override
        public ChannelFuture end() {
            forwards.remove(id);
            return client.write(new DefaultSpdyDataFrame(id).setLast(true));
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
            forwards.remove(id);
            client.writeAndFlush(new DefaultSpdyRstStreamFrame(id, SpdyStreamStatus.INTERNAL_ERROR));
        }
    }
}
