import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.spdy.SpdyFrameCodec;
import io.netty.handler.codec.spdy.SpdySessionHandler;
import io.netty.handler.codec.spdy.SpdyVersion;
import io.netty.handler.ssl.SniCompletionEvent;
import io.netty.handler.ssl.SniHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;

/** What every accepted connection begins with: TLS for the host it asks for, then the protocol. */
final class Front extends ChannelInitializer<Channel> {
    private final Server server;

    Front(Server server) {
        this.server = server;
    }

    @Override
    protected void initChannel(Channel channel) {
        String protocol = server.protocol();
        Log.Connection known = server.log.accepted(channel);
        channel.pipeline().addLast(
                new SniHandler((String host) -> server.tls.context(protocol, host)),
                new Handshake(protocol, known));
    }

    private final class Handshake extends ChannelInboundHandlerAdapter {
        private final String protocol;
        private final Log.Connection known;

        Handshake(String protocol, Log.Connection known) {
            this.protocol = protocol;
            this.known = known;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof SniCompletionEvent asked) {
                known.host = asked.hostname();
            } else if (event instanceof SslHandshakeCompletionEvent ended && ended.isSuccess()) {
                SslHandler tls = context.pipeline().get(SslHandler.class);
                // A session that is resumed is older than its connection.
                long born = tls.engine().getSession().getCreationTime();
                server.log.connected(known, protocol, born < known.tUs / 1000);
                speak(context.pipeline());
                context.pipeline().remove(this);
            } else if (event instanceof SslHandshakeCompletionEvent ended) {
                exceptionCaught(context, ended.cause());
            }
        }

        private void speak(ChannelPipeline pipeline) {
            switch (protocol) {
                case "h1" -> pipeline.addLast(
                        new HttpServerCodec(Server.LONG_HEADERS), new Http1(server, known));
                case "h2" -> pipeline.addLast(
                        Http2FrameCodecBuilder.forServer().build(),
                        new Http2MultiplexHandler(new ChannelInitializer<Channel>() {
                            @Override
                            protected void initChannel(Channel stream) {
                                stream.pipeline().addLast(new Http2(server, known));
                            }
                        }));
                default -> pipeline.addLast(
                        new SpdyFrameCodec(SpdyVersion.SPDY_3_1),
                        new SpdySessionHandler(SpdyVersion.SPDY_3_1, true),
                        new Spdy(server, known));
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            known.error = String.valueOf(cause.getMessage());
            context.close();
        }
    }
}
