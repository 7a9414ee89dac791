// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// What a server does with a request, drawn by the request and the number of its try.
struct ModelResponse {
    /// How much of the response is sent.
    enum Extent: Hashable { case nothing, halfOfHead, wrongHead(String), partOfBody, all }
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
    /// The status lines of interim responses, and the time before each.
    var interim: [(pause: Duration, line: String)] = []
    /// The trailers of a body in chunks.
    var trailers = ""
    /// The time for which the server keeps the idle connection, and the further requests that it takes.
    var keepAlive: (time: Duration, requests: Int)?
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
        var drained = Draw(stage.seed, "drained \(request.target) \(attempt)")
        let isRefusal = stage.world.settings.drainsServers && drained.happens(40)
        switch isRefusal ? 50 : draw.below(1000) {
        case ..<12:
            stage.cover("response reset")
            (extent, end) = (.nothing, .reset)
        case ..<20:
            stage.cover("response never")
            extent = .nothing
        case ..<30:
            stage.cover("response half a head")
            (extent, end) = (.halfOfHead, draw.pick([.closed, .reset]))
        case ..<36:
            stage.cover("response with a wrong head")
            extent = .wrongHead(draw.pick(ModelResponse.wrongHeads))
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
            if draw.happens(30) {
                let isWrong = draw.happens(10)
                stage.cover("response with \(isWrong ? "wrong " : "")trailers")
                trailers = isWrong ? "no trailer\r\n" : "X-Interim: \(request.target)\r\n"
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
            if coding.happens(stage.world.settings.connecting.maximumBody == nil ? 1 : 3, of: 500) {
                stage.cover("response with a long body")
                pieces[0].bytes += [UInt8](repeating: UInt8(ascii: "."), count: 400_000)
            } else if stage.depth == .whole, coding.happens(20) {
                // The transport decodes.
                let kind = coding.happens(60) ? Coding.gzip : coding.pick(Coding.allCases)
                let isIntact = !coding.happens(10)
                stage.cover("response in \(isIntact ? "" : "broken ")\(kind)")
                fields.append(("Content-Encoding", kind.rawValue))
                pieces[0].bytes = kind.encode(pieces[0].bytes, isIntact: isIntact)
            }
        }
        var more = Draw(stage.seed, "more \(request.target) \(attempt)")
        if more.happens(5) {
            let lines = ["103 Early Hints", "102 Processing", "100 Continue"]
            interim = (0...more.below(3)).map { _ in (more.time(.zero, .milliseconds(5)), more.pick(lines)) }
            stage.cover("interim responses")
        }
        let isKept = framing != .connection && end == .open && extent == .all
        if isKept, closesAfter == nil, straysAfter == nil, more.happens(4) {
            stage.cover("connection with announced limits")
            keepAlive = (.seconds(1 + more.below(3)), more.below(4))
        }
        let isStored = fields.contains { $0.value == "max-age=1" }
        stage.sends(body, after: pieces.reduce(pause) { $0 + $1.pause }, lives: isStored ? .seconds(1) : .zero)
    }

    private static let wrongHeads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nwrong!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nwrong\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 5\r\n\r\nwrong",
        "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: -5\r\n\r\nwrong",
        "HTTP/3 200 OK\r\nContent-Length: 5\r\n\r\nwrong", "wrong", "HTTP/1.1 101 Other\r\nUpgrade: x\r\n\r\n",
    ]

    var length: Int { pieces.reduce(0) { $0 + $1.bytes.count } }
}
