// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// What a server does with a request, drawn by the request and the number of its try.
struct ModelResponse {
    /// How much of the response is sent.
    enum Extent { case nothing, halfOfHead, partOfBody, all }
    /// What follows.
    enum End { case open, closed, reset }
    /// What ends the body.
    enum Framing { case length, chunks, connection }

    /// The time until the first byte.
    var pause: Duration
    var status = "200 OK"
    var fields: [(name: String, value: String)] = [("Content-Type", "text/plain")]
    /// The pieces of the body, and the time before each.
    var pieces: [(pause: Duration, bytes: [UInt8])]
    var extent = Extent.all
    var end = End.open
    var framing = Framing.length
    /// The time after the response at which the server closes the idle connection.
    var closesAfter: Duration?
    /// The time after the response at which the server sends bytes that nobody asked for.
    var straysAfter: Duration?

    init(to request: ReceivedRequest, in stage: Stage) {
        let attempt = stage.next("response \(request.target)")
        var draw = Draw(stage.seed, "response \(request.target) \(attempt)")
        pause = draw.time(.microseconds(100), .milliseconds(15))
        let body = "body of \(request.target) no. \(attempt)"
        pieces = [(draw.time(.microseconds(10), .microseconds(400)), Array(body.utf8))]
        if let overload = stage.world.overload {
            stage.cover("response under overload")
            pause = overload.service
            let rest = overload.limit == .bandwidth ? overload.length - body.utf8.count : 0
            pieces = [(.zero, Array(body.utf8) + [UInt8](repeating: UInt8(ascii: "."), count: rest))]
            return
        }
        if draw.happens(20), let name = stage.number(of: request.host) {
            fields.append(("Set-Cookie", "c\(name)=1; Max-Age=5"))
        }
        if draw.happens(20) { fields.append(("Cache-Control", draw.pick(["max-age=1", "no-store", "private"]))) }
        if fields.contains(where: { $0.name == "Set-Cookie" || $0.value == "no-store" || $0.value == "private" }) {
            stage.readersOfPrivate[body] = []
        }
        switch draw.below(1000) {
        case ..<12:
            stage.cover("response reset")
            (extent, end) = (.nothing, .reset)
        case ..<20:
            stage.cover("response never")
            extent = .nothing
        case ..<30:
            stage.cover("response half a head")
            (extent, end) = (.halfOfHead, draw.pick([.closed, .reset]))
        case ..<42:
            stage.cover("response cut")
            (extent, end) = (.partOfBody, draw.pick([.closed, .reset]))
        case ..<50:
            stage.cover("response closed without one")
            (extent, end) = (.nothing, .closed)
        case ..<90:
            status = draw.pick([
                "503 Service Unavailable", "429 Too Many Requests", "502 Bad Gateway", "500 Internal Server Error",
            ])
            stage.cover("response \(status.prefix(3))")
            if draw.happens(30) {
                let seconds = draw.below(2)
                var form = Draw(stage.seed, "form \(request.target) \(attempt)")
                fields.append(("Retry-After", form.happens(40) ? stage.date(after: seconds) : "\(seconds)"))
            }
            pieces[0].bytes = Array("sorry".utf8)
        case ..<150:
            status = draw.pick(["302 Found", "307 Temporary Redirect", "303 See Other"])
            stage.cover("response \(status.prefix(3))")
            let name = draw.below(stage.world.names.count)
            var port = Draw(stage.seed, "port \(request.target) \(attempt)")
            let authority = stage.world.names[name].host + (port.happens(20) ? ":8080" : "")
            let next = "\(request.path)/\(request.depth + 1)"
            fields.append(("Location", "\(stage.scheme)://\(authority)\(next)"))
            stage.redirectMethods[next, default: []].insert(status.hasPrefix("307") ? request.method : "GET")
            if let call = request.call { stage.visited[call, default: []].insert(name) }
            pieces = []
        case ..<200:
            stage.cover("response chunked")
            framing = .chunks
            pieces = [body.prefix(4), body.dropFirst(4)].map { part in
                (draw.happens(10) ? draw.time(.milliseconds(1), .seconds(2)) : .zero, Array(part.utf8))
            }
        case ..<240:
            stage.cover("response until the end")
            (framing, end) = (.connection, .closed)
        case ..<260:
            stage.cover("response late")
            pause += draw.time(.milliseconds(100), .seconds(3))
        default:
            stage.cover("response 200")
            if draw.happens(5) {
                stage.cover("connection closed while idle")
                closesAfter = draw.time(.zero, .milliseconds(50))
            } else if draw.happens(1) {
                stage.cover("stray bytes")
                straysAfter = draw.time(.zero, .milliseconds(5))
            }
            var coding = Draw(stage.seed, "coding \(request.target) \(attempt)")
            // The transport decodes.
            if stage.depth == .whole, coding.happens(20) {
                stage.cover("response in gzip")
                fields.append(("Content-Encoding", "gzip"))
                let isIntact = !coding.happens(10)
                if !isIntact { stage.cover("response in broken gzip") }
                pieces[0].bytes = gzip(pieces[0].bytes, isIntact: isIntact)
            }
        }
        let isKept = fields.contains { $0.value == "max-age=1" }
        stage.sends(body, after: pieces.reduce(pause) { $0 + $1.pause }, lives: isKept ? .seconds(1) : .zero)
    }

    var length: Int { pieces.reduce(0) { $0 + $1.bytes.count } }
}

/// Returns bytes in the coding gzip (RFC 1952), as one block that is not compressed.
private func gzip(_ bytes: [UInt8], isIntact: Bool) -> [UInt8] {
    var sum = UInt32.max
    for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xedb8_8320 : 0) }
    }
    func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
    let length = UInt16(bytes.count)
    return [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1] + little(length) + little(~length) + bytes
        + little(isIntact ? ~sum : sum) + little(UInt32(length))
}
