import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.util.ReferenceCountUtil;

/** A stream of HTTP/2, in the channel of its own that `Http2MultiplexHandler` makes. */
final class Http2 extends Alone {
    Http2(Server server, Log.Connection known) {
        super(server, known);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object frame) {
        if (frame instanceof Http2HeadersFrame head && forward == null) {
            Http2Headers asked = head.headers();
            HttpHeaders headers = Forward.carried(asked);
            headers.set(HttpHeaderNames.HOST, asked.authority());
            forward = server.ask(known, this, asked.method().toString(), asked.path().toString(),
                    headers, !head.isEndStream());
        } else if (frame instanceof Http2DataFrame body && forward != null) {
            forward.body(body.content(), body.isEndStream());
        } else {
            ReferenceCountUtil.release(frame);
        }
    }

    @Override
    public void begin(int status, HttpHeaders headers) {
        Http2Headers head = new DefaultHttp2Headers(false).status(Integer.toString(status));
        headers.forEach(header -> head.add(header.getKey(), header.getValue()));
        client.write(new DefaultHttp2HeadersFrame(head));
    }

    @Override
    public void write(ByteBuf part) {
        client.write(new DefaultHttp2DataFrame(part));
    }

    @Override
    public ChannelFuture end() {
        return client.write(new DefaultHttp2DataFrame(true));
    }
}
