import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2WindowUpdateFrame;
import io.netty.handler.codec.http2.Http2ChannelDuplexHandler;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.spdy.DefaultSpdySynStreamFrame;
import io.netty.handler.codec.spdy.SpdyDataFrame;
import io.netty.handler.codec.spdy.SpdyFrameCodec;
import io.netty.handler.codec.spdy.SpdyHeaders.HttpNames;
import io.netty.handler.codec.spdy.SpdySessionHandler;
import io.netty.handler.codec.spdy.SpdySynStreamFrame;
import io.netty.handler.codec.spdy.SpdyVersion;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Promise;

/** The client of `WarmUp`: one request after another over one connection. */
abstract class Asker extends ChannelInboundHandlerAdapter {
    private final Promise<Void> done;
    private int left;

    private Asker(int requests, Promise<Void> done) {
        this.left = requests;
        this.done = done;
    }

    /** Behind TLS, so many requests for `host`, after which `done` is told. */
    static void join(ChannelPipeline pipeline, String protocol, String host, int requests,
            Promise<Void> done) {
        switch (protocol) {
            case "h1" -> pipeline.addLast(
                    new HttpClientCodec(), new OverHttp1(host, requests, done));
            case "h2" -> {
                Http2ChannelDuplexHandler streams = new Http2ChannelDuplexHandler() {};
                pipeline.addLast(Http2FrameCodecBuilder.forClient().build(), streams,
                        new OverHttp2(streams, host, requests, done));
            }
            default -> pipeline.addLast(
                    new SpdyFrameCodec(SpdyVersion.SPDY_3_1),
                    new SpdySessionHandler(SpdyVersion.SPDY_3_1, false),
                    new OverSpdy(host, requests, done));
        }
    }

    abstract void ask(ChannelHandlerContext context);

    /** Whether an answer ends with this part of it. */
    abstract boolean isLast(ChannelHandlerContext context, Object part);

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SslHandshakeCompletionEvent ended) {
            if (ended.isSuccess()) {
                ask(context);
            } else {
                done.tryFailure(ended.cause());
            }
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object part) {
        boolean last = isLast(context, part);
        ReferenceCountUtil.release(part);
        if (last && --left > 0) {
            ask(context);
        } else if (last) {
            done.trySuccess(null);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        done.tryFailure(new IllegalStateException("a connection broke while warming up"));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        done.tryFailure(cause);
    }

    private static final class OverHttp1 extends Asker {
        private final String host;

        OverHttp1(String host, int requests, Promise<Void> done) {
            super(requests, done);
            this.host = host;
        }

        @Override
        void ask(ChannelHandlerContext context) {
            HttpRequest head =
                    new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/");
            head.headers().set(HttpHeaderNames.HOST, host);
            context.writeAndFlush(head);
        }

        @Override
        boolean isLast(ChannelHandlerContext context, Object part) {
            return part instanceof LastHttpContent;
        }
    }

    private static final class OverHttp2 extends Asker {
        private final Http2ChannelDuplexHandler streams;
        private final String host;

        OverHttp2(Http2ChannelDuplexHandler streams, String host, int requests,
                Promise<Void> done) {
            super(requests, done);
            this.streams = streams;
            this.host = host;
        }

        @Override
        void ask(ChannelHandlerContext context) {
            Http2Headers head =
                    new DefaultHttp2Headers().method("GET").scheme("https").authority(host).path("/");
            context.writeAndFlush(
                    new DefaultHttp2HeadersFrame(head, true).stream(streams.newStream()));
        }

        @Override
        boolean isLast(ChannelHandlerContext context, Object part) {
            if (!(part instanceof Http2DataFrame body)) {
                return false;
            }
            int taken = body.initialFlowControlledBytes();
            context.write(new DefaultHttp2WindowUpdateFrame(taken).stream(body.stream()));
            return body.isEndStream();
        }
    }

    private static final class OverSpdy extends Asker {
        private final String host;
        private int stream = -1;

        OverSpdy(String host, int requests, Promise<Void> done) {
            super(requests, done);
            this.host = host;
        }

        @Override
        void ask(ChannelHandlerContext context) {
            stream += 2;
            SpdySynStreamFrame head = new DefaultSpdySynStreamFrame(stream, 0, (byte) 0);
            head.setLast(true).headers()
                    .set(HttpNames.METHOD, "GET")
                    .set(HttpNames.SCHEME, "https")
                    .set(HttpNames.HOST, host)
                    .set(HttpNames.PATH, "/")
                    .set(HttpNames.VERSION, HttpVersion.HTTP_1_1.text());
            context.writeAndFlush(head);
        }

        @Override
        boolean isLast(ChannelHandlerContext context, Object part) {
            return part instanceof SpdyDataFrame body && body.isLast();
        }
    }
}
