// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import NIOCore
internal import NIOPosix

/// A client's connection until its tunnel is made: the bytes of ``ProxyHandshake``, a limit of time, and the connection to the
/// destination.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: ProxyState
    private var handshake: ProxyHandshake
    private var limit: Scheduled<Void>?
    private var work: Task<Void, Never>?

    init(_ shared: ProxyState) {
        self.shared = shared
        handshake = ProxyHandshake(shared.login)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        limit = context.eventLoop.scheduleTask(in: TimeAmount(shared.configuration.handshakeTimeout)) {
            let (handler, context) = bound.value
            handler.shared.noteRefusal(.malformed)
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        limit?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        limit?.cancel()
        work?.cancel()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that sends nothing more before its tunnel is made has left.
        if case .inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for action in handshake.received(unwrapInboundIn(data).readableBytesView) {
            switch action {
            case .reply(let bytes): write(bytes, context)
            case .refuse(let bytes, let refusal):
                shared.noteRefusal(refusal)
                refuse(bytes, context)
            case .connect(let target):
                limit?.cancel()
                connect(to: target, context)
            }
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func refuse(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        limit?.cancel()
        if bytes.isEmpty { return context.close(promise: nil) }
        // The client reads the answer before the end of the connection.
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    private func connect(to target: ProxyHandshake.Target, _ context: ChannelHandlerContext) {
        let (shared, loop, client) = (shared, context.eventLoop, context.channel)
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        client.setOption(.autoRead, value: false).whenFailure { _ in client.close(promise: nil) }
        work = Task {
            let (socket, outcome) = await shared.connect(to: target)
            guard let socket else {
                return loop.execute {
                    let (handler, context) = bound.value
                    handler.refuse(handler.handshake.answer(to: outcome), context)
                }
            }
            let activity = TunnelActivity(at: SystemTimeSource().now())
            do {
                let server = try await ClientBootstrap(group: loop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.allowRemoteHalfClosure, value: true)
                    .withConnectedSocket(socket.descriptor).get()
                guard let number = shared.opened(target, socket.endpoint, activity, client: client) else {
                    return server.close(promise: nil)
                }
                client.closeFuture.whenComplete { _ in shared.closed(number) }
                loop.execute { bound.value.0.join(bound.value.1, to: server, activity) }
            } catch {
                client.close(promise: nil)
            }
        }
    }

    /// Makes a tunnel of both channels.
    private func join(
        _ context: ChannelHandlerContext,
        to server: any Channel,
        _ activity: TunnelActivity
    ) {
        let client = context.channel
        guard client.isActive else { return server.close(promise: nil) }
        let ends = TunnelEnd.pair(activity)
        do {
            try server.pipeline.syncOperations.addHandler(ends.server)
            try client.pipeline.syncOperations.addHandler(ends.client)
        } catch {
            client.close(promise: nil)
            return server.close(promise: nil)
        }
        write(handshake.answer(to: .connected), context)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        let rest = handshake.takeRest()
        if !rest.isEmpty {
            activity.count(rest.count, fromServer: false, at: SystemTimeSource().coarseNow())
            server.writeAndFlush(ByteBuffer(bytes: rest), promise: nil)
        }
        server.read()
        client.read()
    }
}

@available(*, unavailable)
extension HandshakeHandler: Sendable {}
#endif
