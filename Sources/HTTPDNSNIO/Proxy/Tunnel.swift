// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSPrimitives
internal import NIOCore
internal import Synchronization

/// The counts and times of a tunnel, which its loop writes.
final class TunnelActivity: Sendable {
    let sent = Atomic(0)
    let received = Atomic(0)
    /// The time of the last byte in nanoseconds, and whether it came from the server in the lowest bit.
    private let last: Atomic<Int64>
    /// The number of its ends that read nothing until the other one has room: then it is slow, and not quiet.
    let waitingEnds = Atomic(0)

    init(at now: MonotonicTime) { last = Atomic(now.nanoseconds << 1) }

    func count(_ bytes: Int, fromServer: Bool, at now: MonotonicTime) {
        if fromServer {
            received.wrappingAdd(bytes, ordering: .relaxed)
        } else {
            sent.wrappingAdd(bytes, ordering: .relaxed)
        }
        last.store(now.nanoseconds << 1 | (fromServer ? 1 : 0), ordering: .relaxed)
    }

    var lastByte: (at: MonotonicTime, isFromServer: Bool) {
        let value = last.load(ordering: .relaxed)
        return (MonotonicTime(nanoseconds: value >> 1), value & 1 == 1)
    }
}

/// One of the two ends of a tunnel: it passes what it reads on to the other one, and reads again when that one has room.
///
/// Both are on the same loop, where all of their methods are called.
final class TunnelEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time that a peer has to take what was written before the other end was gone.
    private static let patience = Duration.seconds(30)

    private let activity: TunnelActivity
    private let isServer: Bool
    private var context: ChannelHandlerContext?
    private var other: TunnelEnd?
    /// Whether a read waits until the other end has room.
    private var waitsForRoom = false
    private var ending = Ending.none
    private var limit: Scheduled<Void>?

    private enum Ending {
        case none
        /// After what was written before, the output ends, or everything.
        case output, everything
        /// The output has ended.
        case ended
    }

    private init(_ activity: TunnelActivity, isServer: Bool) {
        self.activity = activity
        self.isServer = isServer
    }

    /// Creates both ends, of which each knows the other until its channel is closed.
    static func pair(_ activity: TunnelActivity) -> (client: TunnelEnd, server: TunnelEnd) {
        let (client, server) = (TunnelEnd(activity, isServer: false), TunnelEnd(activity, isServer: true))
        (client.other, server.other) = (server, client)
        return (client, server)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        limit?.cancel()
        (self.context, other) = (nil, nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        activity.count(bytes.readableBytes, fromServer: isServer, at: SystemTimeSource().coarseNow())
        other?.context?.write(NIOAny(bytes), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        other?.context?.flush()
        readOn()
    }

    /// Reads more, if the other end takes it.
    private func readOn() {
        guard let to = other?.context else { return }
        let hasWaited = waitsForRoom
        waitsForRoom = !to.channel.isWritable
        if waitsForRoom != hasWaited { activity.waitingEnds.wrappingAdd(waitsForRoom ? 1 : -1, ordering: .relaxed) }
        if !waitsForRoom { context?.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, other?.waitsForRoom == true { other?.readOn() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed? = event as? ChannelEvent else { return context.fireUserInboundEventTriggered(event) }
        // The other direction goes on (RFC 9293 section 3.6).
        other?.end(everything: false)
    }

    func channelInactive(context: ChannelHandlerContext) { other?.end(everything: true) }

    /// Ends the output, or everything, after what was written. SwiftNIO drops that when it closes a channel, and when it ends the
    /// output of one whose input has ended (2.101).
    func end(everything: Bool) {
        guard let context else { return }
        let before = ending
        if before == .ended {
            if everything { context.close(promise: nil) }
            return
        }
        ending = everything ? .everything : before == .everything ? .everything : .output
        if everything, before != .everything { limitEnd(context) }
        guard before == .none else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(NIOAny(ByteBuffer())).whenComplete { _ in
            let end = bound.value
            let mode = end.ending == .everything ? CloseMode.all : .output
            end.ending = .ended
            end.context?.close(mode: mode, promise: nil)
        }
    }

    /// Closes the channel when its peer has not taken the rest in time, after the other end is gone.
    private func limitEnd(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        limit = context.eventLoop.scheduleTask(in: TimeAmount(TunnelEnd.patience)) {
            bound.value.context?.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

@available(*, unavailable)
extension TunnelEnd: Sendable {}

/// Whether a tunnel to an address that its name has left ends now (`drain`). A value.
///
/// 1. A tunnel without a byte for 2 s ends.
/// 2. From half of the deadline on, one ends after 50 ms without a byte, if the last one came from the server: a response has ended.
/// 3. At the deadline all end.
struct TunnelDrain: Sendable {
    enum Ending: Hashable, Sendable {
        case quiet, afterServer, deadline
    }

    static let quietTime = Duration.seconds(2)
    static let shortQuietTime = Duration.milliseconds(50)

    var leftAt: MonotonicTime
    var deadline: Duration

    func ending(lastByte: (at: MonotonicTime, isFromServer: Bool), at now: MonotonicTime) -> Ending? {
        if now - leftAt >= deadline { return .deadline }
        let quiet = now - lastByte.at
        if quiet >= TunnelDrain.quietTime { return .quiet }
        guard now - leftAt >= deadline / 2, lastByte.isFromServer, quiet >= TunnelDrain.shortQuietTime else {
            return nil
        }
        return .afterServer
    }
}
#endif
