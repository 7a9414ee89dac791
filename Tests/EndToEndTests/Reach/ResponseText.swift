// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
import NIOCore
import NIOPosix

/// The whole text that a channel receives until its end.
final class ResponseText: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var text = ByteBuffer()
    private let whole: EventLoopPromise<String>

    init(_ whole: EventLoopPromise<String>) { self.whole = whole }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { text.writeImmutableBuffer(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { whole.succeed(String(buffer: text)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        whole.fail(error)
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension ResponseText: Sendable {}

/// Sends a text to a port of 127.0.0.1, and returns what comes until the end of the connection.
/// - Parameter endsInput: Whether the sender ends its side after the text.
func answer(to text: String, port: Int, endsInput: Bool = false) async throws -> String {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let whole = loop.makePromise(of: String.self)
    let bootstrap = ClientBootstrap(group: loop).channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(ResponseText(whole))
        }
    }
    do {
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        if !text.isEmpty { try await channel.writeAndFlush(ByteBuffer(string: text)) }
        if endsInput { try await channel.close(mode: .output) }
    } catch {
        whole.fail(error)
    }
    return try await whole.futureResult.get()
}
#endif
