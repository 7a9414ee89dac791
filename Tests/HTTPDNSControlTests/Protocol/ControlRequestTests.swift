// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSControl
import HTTPDNSCore
import Testing

struct ControlRequestTests {
    static let acceptedLines: [(String, ControlRequest.Command)] = [
        (#"{"version":1,"command":"ping"}"#, .ping),
        (#" { "command" : "ping" , "version" : 1.0 } "# + "\r", .ping),
        (#"{"version":1,"command":"dump"}"#, .dump(.init())),
        (#"{"version":1,"command":"dump","limit":0}"#, .dump(.init(limit: 0))),
        (#"{"version":1,"command":"switch","state":"off"}"#, .turn(isOn: false, route: nil)),
        (#"{"version":1,"command":"switch","state":"on","route":"*"}"#, .turn(isOn: true, route: .any)),
        (#"{"version":1,"command":"refresh"}"#, .refresh(nil)),
        (#"{"version":1,"command":"refresh","names":[]}"#, .refresh([])),
        (#"{"version":1,"command":"watch"}"#, .watch(interval: .seconds(1), .init())),
        (
            #"{"version":1,"command":"watch","interval":0.5,"limit":7}"#,
            .watch(interval: .milliseconds(500), .init(limit: 7))
        ),
        (#"{"version":1,"command":"records"}"#, .records(.init())),
        (#"{"version":1,"command":"records","limit":0,"failed":false}"#, .records(.init(limit: 0))),
        (#"{"version":1,"command":"records","id":18}"#, .records(only { $0.callID = 18 })),
        (#"{"version":1,"command":"records","after":18}"#, .records(only { $0.after = 18 })),
        (
            #"{"version":1,"command":"records","names":["*"],"status":"5xx","failed":true,"slowerThan":0.25}"#,
            .records(
                only {
                    $0.names = [.any]
                    $0.statuses = RecordSelection.Statuses("5xx")
                    $0.isFailed = true
                    $0.slowerThan = .milliseconds(250)
                }
            )
        ),
    ]

    private static func only(_ change: (inout RecordSelection) -> Void) -> RecordSelection {
        var selection = RecordSelection()
        change(&selection)
        return selection
    }

    @Test("Every valid request is read", arguments: acceptedLines)
    func accepted(line: String, command: ControlRequest.Command) throws {
        #expect(try ControlRequest(line: Array(line.utf8)).command == command)
    }

    @Test("Names are read as patterns in one spelling")
    func patterns() throws {
        let line = #"{"version":1,"command":"dump","names":["IMG.Shop.Test.","*.cdn.test"]}"#
        let names = try ["img.shop.test", "*.cdn.test"].map { try HTTPDNSRoute.Pattern($0) }
        #expect(try ControlRequest(line: Array(line.utf8)).command == .dump(.init(names: names)))
    }

    static let refusedLines: [(String, String, String)] = [
        ("", "bad-request", "the line is not JSON"),
        ("ping", "bad-request", "the line is not JSON"),
        ("[1]", "bad-request", "the line is a list, and a request is an object"),
        ("{}", "bad-request", #""version" is missing"#),
        (#"{"version":2,"command":"ping"}"#, "unsupported-version", "speaks version 1"),
        (#"{"version":"1","command":"ping"}"#, "unsupported-version", "speaks version 1"),
        (#"{"version":1}"#, "bad-request", #""command" is missing"#),
        (#"{"version":1,"command":7}"#, "bad-request", #""command" is a number, and a string belongs there"#),
        (#"{"version":1,"command":"stop\n"}"#, "unknown-command", #"there is no command "stop\n""#),
        (#"{"version":1,"command":"ping","limit":1}"#, "bad-request", #""limit" is no member of a ping request"#),
        (#"{"version":1,"version":1,"command":"ping"}"#, "bad-request", "a key is there twice"),
        (#"{"version":1,"command":"dump","limit":-1}"#, "bad-request", #""limit" is not a number from 0 to 2000"#),
        (#"{"version":1,"command":"dump","limit":1.5}"#, "bad-request", #""limit" is no whole number"#),
        (#"{"version":1,"command":"dump","limit":1e99}"#, "bad-request", #""limit" is not a number from 0 to 2000"#),
        (#"{"version":1,"command":"dump","names":"a"}"#, "bad-request", #""names" is a string, and a list"#),
        (#"{"version":1,"command":"dump","names":[1]}"#, "bad-request", #""names" has a number in it"#),
        (#"{"version":1,"command":"dump","names":["a b"]}"#, "bad-request", #""a b" in "names" is not a name"#),
        (#"{"version":1,"command":"switch"}"#, "bad-request", #""state" is missing"#),
        (#"{"version":1,"command":"switch","state":"Off"}"#, "bad-request", #"neither "on" nor "off""#),
        (#"{"version":1,"command":"switch","state":true}"#, "bad-request", #""state" is a truth value"#),
        (#"{"version":1,"command":"switch","state":"off","route":""}"#, "bad-request", #""" in "route""#),
        (#"{"version":1,"command":"refresh","names":["*.a.test"]}"#, "bad-request", #"is not a host name"#),
        (#"{"version":1,"command":"watch","interval":0.1}"#, "bad-request", #"not a number from 0.2 to 60"#),
        (#"{"version":1,"command":"records","limit":2001}"#, "bad-request", #""limit" is not a number from 0 to 2000"#),
        (#"{"version":1,"command":"records","id":1.5}"#, "bad-request", #""id" is no whole number"#),
        (#"{"version":1,"command":"records","after":-1}"#, "bad-request", #""after" is not a number from 0"#),
        (#"{"version":1,"command":"records","status":"6xx"}"#, "bad-request", #""status" is neither a status"#),
        (#"{"version":1,"command":"records","status":500}"#, "bad-request", #""status" is a number"#),
        (
            #"{"version":1,"command":"records","failed":"yes"}"#, "bad-request",
            #""failed" is a string, and a truth value"#
        ),
        (#"{"version":1,"command":"records","slowerThan":-1}"#, "bad-request", #""slowerThan" is not a number from 0"#),
        (#"{"version":1,"command":"dump","id":1}"#, "bad-request", #""id" is no member of a dump request"#),
        (#"{"version":1,"command":"watch","interval":null}"#, "bad-request", #"not a number from 0.2 to 60"#),
    ]

    @Test("An invalid request is refused with its code and a reason on one line", arguments: refusedLines)
    func refused(line: String, code: String, message: String) throws {
        let fault = #expect(throws: ControlFault.self) { try ControlRequest(line: Array(line.utf8)) }
        #expect(fault?.code.rawValue == code)
        #expect(fault?.message.contains(message) == true, "\(fault?.message ?? "-")")
        #expect(fault?.message.contains("\n") == false)
        #expect(fault?.hint != nil)
    }

    @Test("A line of 64 KiB is read, and a line with one byte more is refused")
    func length() throws {
        let request = Array(#"{"version":1,"command":"ping"}"#.utf8)
        let blanks = [UInt8](repeating: 0x20, count: ControlProtocol.maximumLine - request.count)
        #expect(throws: Never.self) { try ControlRequest(line: request + blanks) }
        let fault = #expect(throws: ControlFault.self) { try ControlRequest(line: request + blanks + [0x20]) }
        #expect(fault?.code == .lineTooLong)
    }

    @Test("A refresh names at most a thousand hosts")
    func refreshLimit() throws {
        func line(_ count: Int) -> [UInt8] {
            let names = (0..<count).map { "\"n\($0).test\"" }.joined(separator: ",")
            return Array("{\"version\":1,\"command\":\"refresh\",\"names\":[\(names)]}".utf8)
        }
        #expect(throws: Never.self) { try ControlRequest(line: line(1000)) }
        #expect(throws: ControlFault.self) { try ControlRequest(line: line(1001)) }
    }

    @Test("Requests that resolve-test writes are read by a service", arguments: acceptedLines.map(\.1))
    func written(_ command: ControlRequest.Command) throws {
        let line = ControlRequest(command).line
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(try ControlRequest(line: Array(line.dropLast())) == ControlRequest(command))
    }
}
