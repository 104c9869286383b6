import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;

/** A connection with HTTP/1.1, behind `HttpServerCodec`: one request after another. */
final class Http1 extends Alone {
    private boolean lasting;

    Http1(Server server, Log.Connection known) {
        super(server, known);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object part) {
        if (part instanceof HttpRequest head) {
            HttpHeaders headers = Forward.carried(head.headers());
            boolean more = HttpUtil.isTransferEncodingChunked(head)
                    || HttpUtil.getContentLength(head, 0L) > 0;
            lasting = HttpUtil.isKeepAlive(head);
            forward = server.ask(known, this, head.method().name(), head.uri(), headers, more);
        }
        if (part instanceof HttpContent body) {
            forward.body(body.content(), part instanceof LastHttpContent);
        }
    }

    @Override
    public void begin(int status, HttpHeaders headers) {
        HttpResponseStatus words = HttpResponseStatus.valueOf(status);
        HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, words, headers);
        boolean sized = headers.contains(HttpHeaderNames.CONTENT_LENGTH);
        if (!sized && status != HttpResponseStatus.NOT_MODIFIED.code()) {
            HttpUtil.setTransferEncodingChunked(head, true);
        }
        client.write(head);
    }

    @Override
    public void write(ByteBuf part) {
        client.write(new DefaultHttpContent(part));
    }

    @Override
    public ChannelFuture end() {
        ChannelFuture sent = client.write(LastHttpContent.EMPTY_LAST_CONTENT);
        return lasting ? sent : sent.addListener(ChannelFutureListener.CLOSE);
    }
}
