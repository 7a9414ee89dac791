// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSControl
import HTTPDNSCore
import Testing

struct ControlReplyTests {
    @Test("An event decodes as it was encoded, except for its time")
    func event() throws {
        var event = HTTPDNSResolver.Event(.changed, at: .now)
        event.host = try HTTPDNSName("img.shop.test")
        event.route = "*.shop.test"
        event.provider = "doh"
        event.source = .lastResort
        event.addresses = [HTTPDNSAddress(v4: 203, 0, 113, 7), try #require(HTTPDNSAddress("2001:db8::7"))]
        event.previousAddresses = [HTTPDNSAddress(v4: 203, 0, 113, 8)]
        event.elapsed = .milliseconds(8)
        event.duration = .seconds(30)
        event.code = "timed-out"
        event.message = "too late"
        event.count = 3
        event.missedBefore = 2
        var reply = ControlReply(to: "watch")
        reply.event = ControlEvent(event)
        let line = reply.line
        #expect(line.filter { $0 == UInt8(ascii: "\n") }.count == 1 && line.last == UInt8(ascii: "\n"))
        let read = try ControlReply(line: line)
        #expect(read == reply)
        #expect(read.event?.resolverEvent(at: event.time) == event)
    }

    @Test("Every kind of event can be decoded", arguments: HTTPDNSResolver.Event.Kind.all)
    func kinds(_ kind: HTTPDNSResolver.Event.Kind) {
        let event = HTTPDNSResolver.Event(kind, at: .now)
        #expect(ControlEvent(event).resolverEvent(at: event.time) == event)
    }

    @Test("Every source of addresses can be decoded", arguments: HTTPDNSResolver.Resolution.Source.all)
    func sources(_ source: HTTPDNSResolver.Resolution.Source) {
        var event = HTTPDNSResolver.Event(.changed, at: .now)
        event.source = source
        #expect(ControlEvent(event).resolverEvent(at: event.time) == event)
    }

    @Test("An error reply has code, message and hint")
    func fault() throws {
        let reply = ControlReply(to: nil, ControlFault(.idle, "a \"b\"", hint: "c"))
        let text = String(decoding: reply.line, as: UTF8.self)
        #expect(text == #"{"error":{"code":"idle","hint":"c","message":"a \"b\""},"version":1}"# + "\n")
    }

    @Test("A reply that is too long becomes an error that says so")
    func tooLong() throws {
        var event = ControlEvent(HTTPDNSResolver.Event(.changed, at: .now))
        event.addresses = Array(
            repeating: String(repeating: "1", count: 1000),
            count: ControlProtocol.maximumReply / 1000
        )
        var reply = ControlReply(to: "watch")
        reply.event = event
        let read = try ControlReply(line: reply.line)
        #expect(read.error?.code == .replyTooLong && read.event == nil && read.command == "watch")
    }
}
