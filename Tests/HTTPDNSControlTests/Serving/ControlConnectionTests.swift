// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSControl

struct ControlConnectionTests {
    private static let ping = #"{"version":1,"command":"ping"}"# + "\n"
    private static let watch = #"{"version":1,"command":"watch"}"# + "\n"
    private static let pingRequest = ControlRequest(.ping)
    private static let watchRequest = ControlRequest(.watch(interval: .seconds(1), .init()))

    private let start = MonotonicTime(nanoseconds: 0)
    private func second(_ number: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: number * 1_000_000_000) }

    private func output(of connection: ControlConnection) -> String {
        String(decoding: connection.pendingOutput, as: UTF8.self)
    }

    @Test("A request that arrives byte by byte is performed once, at its line feed")
    func pieces() {
        var connection = ControlConnection(at: start)
        let actions = Self.ping.utf8.flatMap { connection.received([$0], at: start) }
        #expect(actions == [.perform(Self.pingRequest)])
        #expect(!connection.wantsInput)
    }

    @Test("Requests that arrive together are performed one after the other")
    func pipelining() {
        var connection = ControlConnection(at: start)
        #expect(
            connection.received(Array((Self.ping + "\n\r\n" + Self.ping).utf8), at: start) == [
                .perform(Self.pingRequest)
            ]
        )
        #expect(connection.performed(Self.pingRequest, at: start) == [.perform(Self.pingRequest)])
        #expect(connection.performed(Self.pingRequest, at: start).isEmpty)
        #expect(connection.wantsInput)
    }

    @Test("A watch runs beside other requests, and a second watch is refused")
    func watching() {
        var connection = ControlConnection(at: start)
        #expect(connection.received(Array(Self.watch.utf8), at: start) == [.perform(Self.watchRequest)])
        #expect(connection.received(Array(Self.ping.utf8), at: start) == [.perform(Self.pingRequest)])
        #expect(connection.performed(Self.pingRequest, at: start).isEmpty)
        #expect(connection.received(Array(Self.watch.utf8), at: start).isEmpty)
        #expect(output(of: connection).contains("already-watching"))
        // When the first has ended there is room for another one.
        #expect(connection.performed(Self.watchRequest, at: start).isEmpty)
        #expect(connection.received(Array(Self.watch.utf8), at: start) == [.perform(Self.watchRequest)])
    }

    @Test("A bad line gets a reply, and the next request is performed")
    func badLine() {
        var connection = ControlConnection(at: start)
        #expect(connection.received(Array(("nonsense\n" + Self.ping).utf8), at: start) == [.perform(Self.pingRequest)])
        #expect(output(of: connection).contains(#""code":"bad-request""#))
    }

    /// Whether the end of the line arrives or not.
    @Test(
        "A line beyond the limit is answered with an error and ends the connection",
        arguments: [false, true]
    )
    func longLine(ends: Bool) {
        var connection = ControlConnection(at: start)
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: ControlProtocol.maximumLine + 1) + (ends ? [10] : [])
        #expect(connection.received(line, at: start).isEmpty)
        #expect(output(of: connection).contains("line-too-long"))
        #expect(!connection.wantsInput)
        #expect(connection.received(Array(Self.ping.utf8), at: start).isEmpty)
        #expect(connection.wrote(connection.pendingOutput.count, at: start) == [.close])
    }

    @Test("A half-closed connection gets its replies, and needs no last line feed")
    func halfClosed() {
        var connection = ControlConnection(at: start)
        #expect(connection.received(Self.ping.utf8.dropLast(), at: start).isEmpty)
        #expect(connection.inputEnded(at: start) == [.perform(Self.pingRequest)])
        #expect(connection.send(Array("reply\n".utf8), at: start).isEmpty)
        #expect(connection.performed(Self.pingRequest, at: start).isEmpty)
        #expect(connection.wrote(3, at: start).isEmpty)
        #expect(connection.wrote(3, at: start) == [.close])
    }

    @Test("A half-closed connection without a request is closed")
    func nothingAsked() {
        var connection = ControlConnection(at: start)
        #expect(connection.inputEnded(at: start) == [.close])
    }

    /// A connection that watches, or waits for a reply, is not idle.
    @Test("An idle connection is closed after a minute, with the code idle")
    func idle() {
        var connection = ControlConnection(at: start)
        #expect(connection.deadline == second(60))
        #expect(connection.timePassed(at: second(59)).isEmpty)
        #expect(connection.received(Array(Self.ping.utf8), at: second(59)) == [.perform(Self.pingRequest)])
        #expect(connection.deadline == nil)
        #expect(connection.performed(Self.pingRequest, at: second(100)).isEmpty)
        #expect(connection.deadline == second(160))
        var watching = connection
        _ = watching.received(Array(Self.watch.utf8), at: second(101))
        #expect(watching.deadline == nil)
        #expect(connection.timePassed(at: second(160)).isEmpty)
        #expect(output(of: connection).contains(#""code":"idle""#))
        #expect(connection.wrote(connection.pendingOutput.count, at: second(160)) == [.close])
    }

    @Test("Bytes that make no request do not keep a connection alive")
    func trickle() {
        var connection = ControlConnection(at: start)
        for number in 1...59 { #expect(connection.received([0x20], at: second(Int64(number))).isEmpty) }
        #expect(connection.deadline == second(60))
    }

    /// A reader that takes a little is not.
    @Test("A reader that takes nothing for ten seconds is dropped")
    func slowReader() {
        var connection = ControlConnection(at: start)
        _ = connection.received(Array(Self.watch.utf8), at: start)
        #expect(connection.send([1, 2, 3], at: start).isEmpty)
        #expect(connection.wrote(1, at: second(9)).isEmpty)
        #expect(connection.send([4], at: second(18)).isEmpty)
        #expect(connection.timePassed(at: second(18)).isEmpty)
        #expect(connection.timePassed(at: second(19)) == [.close])
    }

    @Test("A reader that is over nine mebibytes behind is dropped immediately")
    func backlog() {
        var connection = ControlConnection(at: start)
        let line = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<9 { #expect(connection.send(line, at: start).isEmpty) }
        #expect(connection.send([1], at: start) == [.close])
        // What was written does not count.
        #expect(connection.wrote(1, at: start).isEmpty)
        #expect(connection.send([1], at: start).isEmpty)
        #expect(connection.pendingOutput.count == 9 << 20)
    }
}
