// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSPrimitives
internal import NIOCore

/// The replies that the clients of a name server wait for. On the thread of its loop alone.
final class PendingReplies {
    private struct Pending {
        var work: Task<Void, Never>
        var limit: Scheduled<Void>
        var deliver: ([UInt8]?) -> Void
    }

    private let service: NameServerService
    private let loop: any EventLoop
    private var waiting: WaitingQueries<Pending>
    /// The number of open connections.
    var connections = 0

    init(_ service: NameServerService, limit: Int, on loop: any EventLoop) {
        self.service = service
        self.loop = loop
        waiting = WaitingQueries(limit: limit)
    }

    /// Replies to a message, at once or later; nil is delivered when there is no reply, or none any more.
    func reply(to message: [UInt8], from client: NameServerService.Client, deliver: @escaping ([UInt8]?) -> Void) {
        switch service.reply(to: message, from: client) {
        case .none: deliver(nil)
        case .now(let reply): deliver(reply)
        case .later(let work): begin(work, deliver)
        }
    }

    private func begin(_ work: NameServerService.Work, _ deliver: @escaping ([UInt8]?) -> Void) {
        let number = waiting.draw()
        let bound = NIOLoopBound(self, eventLoop: loop)
        let loop = loop
        let pending = Pending(
            work: Task.detached {
                let reply = await work.reply()
                loop.execute { bound.value.end(number, reply) }
            },
            limit: loop.scheduleTask(in: TimeAmount(work.timeLimit)) { bound.value.end(number, work.expired) },
            deliver: deliver
        )
        guard let oldest = waiting.add(pending, as: number) else { return }
        service.count(\.dropped)
        oldest.work.cancel()
        oldest.limit.cancel()
        oldest.deliver(nil)
    }

    private func end(_ number: UInt64, _ reply: [UInt8]) {
        guard let pending = waiting.remove(number) else { return }
        pending.work.cancel()
        pending.limit.cancel()
        pending.deliver(reply)
    }

    /// Gives all up.
    func close() {
        for pending in waiting.removeAll() {
            pending.work.cancel()
            pending.limit.cancel()
        }
    }
}

@available(*, unavailable)
extension PendingReplies: Sendable {}
#endif
