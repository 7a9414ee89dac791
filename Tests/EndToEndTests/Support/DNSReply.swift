// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An answer of an HTTP-DNS service, byte by byte, as no real server lets itself be told to send it.
struct DNSReply {
    /// The DNS message: one A record for `host`.
    let message: [UInt8]

    init(host: String, address: [UInt8], timeToLive: UInt8 = 60) {
        var name: [UInt8] = []
        for label in host.split(separator: ".") { name += [UInt8(label.utf8.count)] + Array(label.utf8) }
        name.append(0)
        // ID 0, a response with recursion, one question, one answer.
        var message: [UInt8] = [0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]
        message += name + [0, 1, 0, 1]
        message += [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, timeToLive, 0, 4] + address
        self.message = message
    }

    /// An HTTP answer with these bytes as its body.
    static func http(_ body: [UInt8], length: Int? = nil) -> [UInt8] {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: \(length ?? body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }

    var http: [UInt8] { DNSReply.http(message) }
}
