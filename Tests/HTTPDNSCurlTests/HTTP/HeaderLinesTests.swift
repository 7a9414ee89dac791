// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCurl

struct HeaderLinesTests {
    private func lines(_ fields: HTTPFields, hasBody: Bool = false, host: String? = nil, omitsAccept: Bool = false)
        throws
        -> [String]
    {
        var lines: [String] = []
        let list = try HeaderLines.list(fields, host: host, hasBody: hasBody, omitsAccept: omitsAccept)
        defer { curl_slist_free_all(list) }
        var node = list
        while let current = node {
            lines.append(String(cString: current.pointee.data))
            node = current.pointee.next
        }
        return lines
    }

    @Test("An Accept of libcurl's own can be left out, and one of the request stays")
    func accept() throws {
        #expect(try lines([:], omitsAccept: true) == ["Accept:"])
        #expect(try lines([.accept: "text/x"], omitsAccept: true) == ["Accept: text/x"])
    }

    @Test("Fields keep their order and spelling, and an empty value is sent as one")
    func order() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: HTTPField.Name("X-b")!, value: "1"))
        fields.append(HTTPField(name: HTTPField.Name("x-A")!, value: ""))
        #expect(try lines(fields) == ["X-b: 1", "x-A;"])
    }

    @Test("Cookies go into one line")
    func cookies() throws {
        var fields = HTTPFields()
        fields[.cookie] = "a=1; b=2"
        fields[.accept] = "*/*"
        #expect(
            try lines(fields) == ["accept: */*", "Cookie: a=1; b=2"]
                || lines(fields) == ["Accept: */*", "Cookie: a=1; b=2"]
        )
    }

    @Test("A request with a body waits for no 100 (Continue)")
    func expect() throws {
        #expect(try lines([:], hasBody: true) == ["Expect:"])
    }

    @Test("The line of the accepted codings ends the list, unless the request has its own")
    func tail() throws {
        let tail = try #require(curl_slist_append(nil, "Accept-Encoding: x"))
        defer { curl_slist_free_all(tail) }
        #expect(try HeaderLines.list([:], host: nil, hasBody: false, tail: tail) == tail)
        #expect(try HeaderLines.list([:], host: nil, hasBody: false) == nil)
        for hasOwn in [false, true] {
            var fields: HTTPFields = [.accept: "a", .userAgent: "b"]
            if hasOwn { fields[.acceptEncoding] = "c" }
            let list = try #require(try HeaderLines.list(fields, host: nil, hasBody: false, tail: tail))
            var last = list
            while let next = last.pointee.next, next != tail { last = next }
            #expect((last.pointee.next == tail) == !hasOwn)
            last.pointee.next = nil
            curl_slist_free_all(list)
        }
    }

    @Test("CR, LF and NUL never reach libcurl", arguments: ["a\r\nX: y", "a\nb", "a\0b"])
    func injection(value: String) {
        let failure = #expect(throws: TransferFailure.self) { try lines([:], host: value) }
        #expect(failure?.code == .invalidRequest)
        #expect(failure?.message.contains("X: y") == false)
    }
}
