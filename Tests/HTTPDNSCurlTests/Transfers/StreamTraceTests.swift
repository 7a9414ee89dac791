// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

struct StreamTraceTests {
    private static let own = "Using Stream ID: 5 (easy handle 0x55d0)\n"

    /// The line of libcurl 8.14.1.
    private static let own8 = "[HTTP/2] [5] OPENED stream for https://one.test/\n"

    private static func goAway(_ last: String) -> String { "recveived GOAWAY, error=0, last_stream=\(last)\n" }

    @Test(
        "A refused stream and a GOAWAY that excludes one prove that it was not processed",
        arguments: [
            ([own], false), (["REFUSED_STREAM, retrying a fresh connect\n"], true),
            ([own, "Downgrades to HTTP/1.1\n"], true), ([own, "x Downgrades to HTTP/1.1\n"], false),
            ([own, goAway("3")], true),
            ([own, "received GOAWAY, error=0, last_stream=3\n"], true), ([own, goAway("5")], false),
            ([own, goAway("2147483647")], false), ([own, goAway("2147483647"), goAway("1")], true),
            ([own8, goAway("3")], true), ([own8, goAway("5")], false), ([goAway("7"), own8], true),
            ([own8, "received GOAWAY, error=0, last_stream=3\n"], true),
            // nghttp2 opens no stream after a GOAWAY.
            ([goAway("2147483647"), own], true), ([goAway("7"), own], true),
            ([goAway("3")], false), ([own, goAway("")], false), ([own, goAway("x")], false),
            ([own, "x received GOAWAY, error=0, last_stream=1\n"], false), ([""], false),
            // A line that repeats a field of the request or response.
            (["[HTTP/2] [1] [x: Using Stream ID: 4294967295]\n", goAway("3")], false),
            (["x: Using Stream ID: 4294967295 (easy handle 0x0)\n", goAway("3")], false),
            (["[HTTP/2] [1] [x: [HTTP/2] [9] OPENED stream for y]\n", goAway("3")], false),
            (["[HTTP/2] [1] [x: ] OPENED stream for y]\n", goAway("0")], false),
            ([" [HTTP/2] [9] OPENED stream for y\n", goAway("3")], false),
            (["[HTTP/2] [] OPENED stream for y\n", goAway("3")], false),
            (["[HTTP/2] [-1] OPENED stream for y\n", goAway("3")], false),
            (["[HTTP/2] [9] OPENED\n", goAway("3")], false), (["[HTTP/2] [9", goAway("3")], false),
        ]
    )
    func lines(lines: [String], isUnprocessed: Bool) {
        var stream = RequestStream()
        var lastStream: UInt32?
        for line in lines {
            var line = line
            if let trace = line.withUTF8({ StreamTrace(UnsafeRawBufferPointer($0)) }) {
                stream.read(trace, lastStream: &lastStream)
            }
        }
        #expect(stream.isUnprocessed(lastStream: lastStream) == isUnprocessed)
    }

    @Test(
        "The trace of a GOAWAY tells whether it requires HTTP/1.1",
        arguments: [
            ("recveived", "13", true), ("received", "13", true), ("received", "0", false), ("received", "130", false),
        ]
    )
    func requiredVersion(word: String, error: String, requiresHTTP1: Bool) {
        var line = "\(word) GOAWAY, error=\(error), last_stream=13\n"
        let trace = line.withUTF8 { StreamTrace(UnsafeRawBufferPointer($0)) }
        #expect(trace == .goAway(lastStream: 13, requiresHTTP1: requiresHTTP1))
    }

    @Test("A GOAWAY that another request read counts for all streams of the connection")
    func sharedGoAway() {
        var reader = RequestStream(number: 3)
        var lastStream: UInt32?
        reader.read(.goAway(lastStream: 3, requiresHTTP1: false), lastStream: &lastStream)
        #expect(!reader.isUnprocessed(lastStream: lastStream))
        #expect(RequestStream(number: 5).isUnprocessed(lastStream: lastStream))
        #expect(!RequestStream(number: nil).isUnprocessed(lastStream: lastStream))
    }
}
