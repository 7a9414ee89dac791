// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The service of a real provider, at the seam of its transport: it reads each query, and answers in DNS messages (RFC 8484)
/// or in JSON.
// @unchecked: the schedule lets one task of the process run at a time.
final class ModelService: UpstreamExchanging, @unchecked Sendable {
    /// How a provider of the world is asked.
    enum Kind: String { case model, messages, json }

    private enum Data {
        case address(HTTPDNSAddress)
        case alias(String)
        case service([UInt8])

        var type: Int {
            switch self {
            case .address(let address): address.family == .v4 ? 1 : 28
            case .alias: 5
            case .service: 65
            }
        }
    }

    private struct Record {
        var owner: String
        var life: UInt32
        var data: Data
    }

    /// An answer before it is written.
    private struct Answer {
        var code = 0
        var records: [Record] = []
        /// The life of "no such name" and "no data"; nil without an SOA.
        var negativeLife: UInt32?
    }

    private struct Question {
        var host = ""
        var type = 0
        /// The question of a DNS message.
        var octets: [UInt8] = []
        var hasOptions = false
        /// The option with the client's network.
        var subnet: [UInt8] = []
    }

    private let kind: Kind
    private let source: AnswerSource
    private var isClosed = false

    private init(_ kind: Kind, _ source: AnswerSource) { (self.kind, self.source) = (kind, source) }

    /// Returns the real provider of a service with two addresses.
    static func provider(_ kind: Kind, _ source: AnswerSource) -> (any HTTPDNSProvider)? {
        let exchange = ModelService(kind, source)
        let addresses = [1, 2].map { HTTPDNSAddress(v4: 9, 9, UInt8(source.rawValue), $0) }
        switch kind {
        case .model: return nil
        case .messages:
            let url = "https://\(source).test/" + (source == .a ? "dns-query" : "q{?dns}")
            var settings = HTTPDNSDoHProvider.Configuration(name: "\(source)", url: url, bootstrap: addresses)
            settings.method = source == .a ? .get : .post
            return try? HTTPDNSDoHProvider(settings, exchange: exchange)
        case .json:
            let service = source == .a ? HTTPDNSJSONProvider.Service.google : .cloudflare
            let url = source == .a ? nil : "https://b.test/resolve?token=x"
            return try? HTTPDNSJSONProvider(
                .init(name: "\(source)", service: service, url: url, bootstrap: addresses),
                exchange: exchange
            )
        }
    }

    func shutdown() async { isClosed = true }

    func exchange(
        _ request: ServiceRequest,
        with endpoint: HTTPDNSEndpoint,
        deadline: MonotonicTime
    ) async throws -> UpstreamReply {
        let stage = currentStage
        guard let question = kind == .json ? Self.json(request) : Self.message(request) else {
            stage.violate("a service can read each query", "\(request.url)")
            throw TransferFailure(code: .connectionLost, phase: .firstByte, message: "the query is broken")
        }
        let thing = "\(source) \(question.host) \(question.type)"
        var draw = Draw(now: "service \(thing)", in: stage.seed)
        stage.note("service \(thing) at \(endpoint.address)")
        let isDown = World.isDown("\(source)", in: stage.seed, at: .nanoseconds(schedule.elapsed))
        // An address is well or bad for some seconds.
        var weather = Draw(stage.seed, "weather \(endpoint.address) \(schedule.elapsed / 3_000_000_000)")
        let isSilent = weather.happens(4)
        let isRefusing = weather.happens(4)
        let fate = draw.below(1000)
        var pause = draw.time(.microseconds(300), isDown ? .seconds(4) : .milliseconds(fate < 30 ? 900 : 30))
        if isSilent { pause = .seconds(10) }
        // A transport notices it before, and not in the moment in which the query is given up.
        let deadline = deadline - draw.time(.microseconds(10), .milliseconds(2))
        let now = SystemTimeSource().now()
        try await Task.sleep(for: max(.zero, min(pause, deadline - now)))
        if isClosed { throw TransferFailure(code: .shutDown, phase: .firstByte, message: "the service is left") }
        if now + pause > deadline {
            stage.cover("service silent")
            let phase: TransferFailure.Phase = isSilent && draw.happens(50) ? .connect : .firstByte
            throw TransferFailure(code: .timedOut, phase: phase, message: "no time is left")
        }
        if isRefusing || fate < 8 {
            let code = draw.pick([TransferFailure.Code.connectFailed, .certificateRefused, .protocolViolation])
            stage.cover("service \(isRefusing ? .connectFailed : code)")
            throw TransferFailure(code: isRefusing ? .connectFailed : code, phase: .connect, message: "it fails")
        }
        if fate < 16 {
            stage.cover("service connectionLost")
            throw TransferFailure(code: .connectionLost, phase: .firstByte, message: "the connection ended")
        }
        var reply = UpstreamReply(status: 200, headerFields: [:], body: [], endpoint: endpoint)
        if fate < 46 {
            reply.status = draw.pick([204, 302, 404, 408, 415, 421, 429, 500, 503])
            stage.cover("service status \(reply.status)")
            if reply.status == 429 || reply.status == 503, draw.happens(50) {
                reply.headerFields[.retryAfter] = draw.happens(50) ? "1" : stage.date(after: 2)
                stage.asksForPause(source)
            }
            return reply
        }
        // A kind of fault at a time: most of them make the whole message useless.
        let fault = fate < 76 ? draw.below(10) : -1
        if fault >= 0 { stage.cover("service fault \(fault) in \(kind)") }
        let answer = answer(to: question, isDown: isDown, &draw)
        reply.body = kind == .json ? json(answer, question, fault) : message(answer, question, fault, &draw)
        reply.headerFields[.contentType] = kind == .json ? "application/json" : "application/dns-message"
        if fault == 0 { reply.headerFields[.contentType] = draw.pick([nil, "text/html", "Application/X; a=b"]) }
        if draw.happens(10) { reply.headerFields[.age] = draw.pick(["1", "0", "x"]) }
        if draw.happens(10) {
            let values = [#"private, max-age="25""#, #"max-age=0, x="a\",b""#, "max-age=1"]
            reply.headerFields[.cacheControl] = draw.pick(values)
        }
        return reply
    }

    // MARK: - Answers

    /// Returns what the service knows about a name of the world, or about one below it, which aliases lead to.
    private func answer(to question: Question, isDown: Bool, _ draw: inout Draw) -> Answer {
        let stage = currentStage
        let host = question.host
        let parts = host.split(separator: ".").suffix(2)
        let fate = draw.below(1000)
        if isDown || fate < 40 {
            stage.cover("answer failed")
            return Answer(code: isDown || fate < 30 ? 2 : draw.pick([3 + 2, 23]))
        }
        var edns = Draw(stage.seed, "edns \(source) \(schedule.elapsed / 20_000_000_000)")
        if question.hasOptions, edns.happens(10) {
            stage.cover("service without EDNS")
            return Answer(code: edns.pick([1, 4]))
        }
        guard let index = stage.number(of: parts.joined(separator: ".")) else { return Answer(code: 3) }
        var lives = Draw(stage.seed, "lives \(stage.world.names[index].host)")
        let isShort = lives.happens(50)
        let life: UInt32 = lives.pick(isShort ? [0, 1, 1] : [20, 600, 2_147_483_648])
        let negative: UInt32? = draw.happens(70) ? stage.world.isSlow ? life : min(life, 2) : nil
        if fate < 55 {
            stage.cover("answer no such name")
            stage.denies(index, lives: negative.map { .seconds(Int64($0)) } ?? .seconds(5))
            return Answer(code: 3, negativeLife: negative)
        }
        if fate < 70 {
            stage.cover("answer empty")
            return Answer(negativeLife: negative)
        }
        var answer = Answer(negativeLife: negative)
        var owner = host
        for _ in 0..<(draw.happens(15) ? 1 + draw.below(3) : 0) {
            let target = "c.\(owner)"
            answer.records.append(Record(owner: owner, life: life, data: .alias(target)))
            owner = target
        }
        if owner != host { stage.cover("service alias") }
        let lived = Duration.seconds(Int64(life))
        let own = stage.world.names[index].addresses
        guard question.type != 65 else {
            let records = httpsRecords(of: owner, below: index, life, &draw)
            answer.records += records
            return answer
        }
        if fate < 90 {
            stage.cover("answer with a private address")
            let address = HTTPDNSAddress(v4: 10, 0, 0, UInt8(index))
            if question.type == 1 { answer.records.append(Record(owner: owner, life: life, data: .address(address))) }
            return answer
        }
        stage.cover("answer")
        let first = draw.below(own.count)
        let asked = (0..<1 + draw.below(3)).map { own[(first + $0) % own.count] }
            .filter { ($0.family == .v4) == (question.type == 1) }
        stage.answered(source, asked, lives: lived)
        answer.records += asked.map { Record(owner: owner, life: life, data: .address($0)) }
        return answer
    }

    /// Returns records of type HTTPS (RFC 9460) of several kinds.
    private func httpsRecords(of owner: String, below index: Int, _ life: UInt32, _ draw: inout Draw) -> [Record] {
        let stage = currentStage
        let name = stage.world.names[index]
        var deep = Draw(stage.seed, "deep \(name.host)")
        typealias Parameter = (key: UInt8, value: [UInt8])
        func record(_ priority: UInt8, _ target: String, _ parameters: [Parameter] = []) -> Record {
            var data = [0, priority] + octets(of: target)
            for (key, value) in parameters { data += [0, key, 0, UInt8(value.count)] + value }
            return Record(owner: owner, life: life, data: .service(data))
        }
        let hints = name.addresses.prefix(2)
        let v4 = hints.filter { $0.family == .v4 }.flatMap(\.bytes)
        let v6 = hints.filter { $0.family == .v6 }.flatMap(\.bytes)
        let hinted = [(4, v4), (6, v6)].filter { !$0.1.isEmpty }.map { (key: UInt8($0.0), value: $0.1) }
        let h2: Parameter = (1, [2] + Array("h2".utf8))
        let kind = deep.happens(5) ? 40 : draw.below(100)
        stage.answered(source, Array(hints), lives: .seconds(Int64(life)))
        switch kind {
        case ..<35: return []
        case ..<48:
            stage.cover("HTTPS record alias")
            let isLoop = owner != name.host && !deep.happens(50)
            return [record(0, isLoop ? name.host : "a.\(owner)")] + (draw.happens(20) ? [record(0, "b.\(owner)")] : [])
        case ..<52:
            stage.cover("HTTPS record unavailable")
            return [record(0, "")]
        case ..<56:
            stage.cover("HTTPS record malformed")
            let wrong: [Parameter] = [(4, [1]), (1, []), (3, [1]), (0, [0]), (2, [1]), (1, [9, 1])]
            return [record(1, "", [draw.pick(wrong)])]
        case ..<60:
            stage.cover("HTTPS record unusable")
            let h3: Parameter = (1, [2] + Array("h3".utf8))
            let sets: [[Parameter]] = [[(0, [0, 5]), (5, [1])], [h3, (2, [])], [(2, [])]]
            return [record(1, "", draw.pick(sets))]
        case ..<84:
            stage.cover("HTTPS record of the owner")
            return [record(1, "", [h2] + hinted)]
        case ..<93:
            stage.cover("HTTPS record with a port")
            return [record(1, "s.\(owner)", [h2, (3, [0x20, 0xfb])]), record(2, "")]
        default:
            stage.cover("HTTPS records of several targets")
            // Which of several targets gets the last hedge of the budget is a matter of the schedule.
            return (1...(stage.world.isComparable ? 1 : 6)).map { number in
                let first: [Parameter] = number == 3 ? [h2, (5, [1])] : []
                let parameters = (first + hinted).sorted { $0.key < $1.key }
                return record(1 + UInt8(number) / 4, "t\(number).\(owner)", parameters)
            }
        }
    }

    // MARK: - DNS messages

    private static func message(_ request: ServiceRequest) -> Question? {
        guard let message = request.body ?? bytes(ofQuery: request.url.target), message.count > 16 else { return nil }
        var question = Question(hasOptions: message[11] == 1)
        var labels: [String] = []
        var rest = message[12...]
        while let count = rest.popFirst(), count > 0 {
            labels.append(String(decoding: rest.prefix(Int(count)), as: UTF8.self))
            rest = rest.dropFirst(Int(count))
        }
        question.host = labels.joined(separator: ".")
        question.type = Int(rest[rest.startIndex + 1])
        question.octets = Array(message[12..<rest.startIndex + 4])
        let option = rest.dropFirst(4 + 11)
        if option.count > 4, option[option.startIndex + 1] == 8 {
            question.subnet = Array(option.prefix(4 + Int(option[option.startIndex + 3])))
        }
        return question
    }

    /// Returns the message in a URL, which is in Base64 for URLs.
    private static func bytes(ofQuery target: String) -> [UInt8]? {
        var text = target.utf8.drop { $0 != UInt8(ascii: "=") }.dropFirst().map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return Base64.bytes(String(decoding: text, as: UTF8.self))
    }

    private func message(_ answer: Answer, _ question: Question, _ fault: Int, _ draw: inout Draw) -> [UInt8] {
        func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
        func record(_ owner: String, _ type: Int, _ life: UInt32, _ data: [UInt8]) -> [UInt8] {
            octets(of: owner) + big(UInt16(type)) + [0, 1] + big(life) + big(UInt16(data.count)) + data
        }
        var records = answer.records
        records += broken(question, fault)
        var body: [UInt8] = []
        for one in records {
            switch one.data {
            case .address(let address): body += record(one.owner, one.data.type, one.life, Array(address.bytes))
            case .alias(let target): body += record(one.owner, 5, one.life, octets(of: target))
            case .service(let data): body += record(one.owner, 65, one.life, data)
            }
        }
        if let life = answer.negativeLife {
            body += record("test", 6, life, [0, 0] + [UInt8](repeating: 0, count: 16) + big(life))
        }
        // A scope of 0 is for all clients; another network is an error.
        var subnet = question.subnet
        if !subnet.isEmpty { subnet[7] = draw.pick([0, 24]) }
        if fault == 1, !subnet.isEmpty { subnet[6] = 7 }
        let hasOptions = question.hasOptions && answer.code != 1 && answer.code != 4
        if hasOptions {
            body += [0, 0, 41, 4, 208, UInt8(answer.code >> 4), 0, 0, 0] + big(UInt16(subnet.count)) + subnet
        }
        var asked = question.octets
        if fault == 2 { asked[1] ^= 1 }
        let counts = [1, records.count, answer.negativeLife == nil ? 0 : 1, hasOptions ? 1 : 0]
        let flags: UInt8 = fault == 3 ? 0x83 : fault == 4 ? 0x01 : 0x81
        var message = [0, 0, flags, 0x80 | UInt8(answer.code & 15)] + counts.flatMap { big(UInt16($0)) } + asked + body
        if fault == 5 { message.removeLast(1 + draw.below(message.count - 1)) }
        if fault == 6 { message.append(0) }
        return message
    }

    /// Returns records that no answer may have: aliases in a circle, or too many.
    private func broken(_ question: Question, _ fault: Int) -> [Record] {
        let host = question.host
        switch fault {
        case 7:
            let circle = [(host, "l.\(host)"), ("l.\(host)", host)]
            return circle.map { Record(owner: $0, life: 1, data: .alias($1)) }
        case 8:
            return (0..<18).map { number in
                let owner = number == 0 ? host : "m\(number).\(host)"
                return Record(owner: owner, life: 1, data: .alias("m\(number + 1).\(host)"))
            }
        case 9: return ["x", "y"].map { Record(owner: host, life: 1, data: .alias("\($0).\(host)")) }
        default: return []
        }
    }

    private func octets(of name: String) -> [UInt8] {
        // Each dot, and one before the name, becomes the length of the label behind it.
        var octets = [0] + Array(name.utf8) + [0]
        var length: UInt8 = 0
        for index in octets.indices.dropLast().reversed() {
            guard octets[index] == UInt8(ascii: ".") || index == 0 else {
                length += 1
                continue
            }
            octets[index] = length
            length = 0
        }
        return name.isEmpty ? [0] : octets
    }

    // MARK: - JSON

    private static func json(_ request: ServiceRequest) -> Question? {
        var question = Question()
        for part in request.url.target.split(separator: "?").last?.split(separator: "&") ?? [] {
            if part.hasPrefix("name=") { question.host = String(part.dropFirst(5)) }
            if part.hasPrefix("type=") { question.type = Int(part.dropFirst(5)) ?? 0 }
        }
        return question.type > 0 ? question : nil
    }

    private func json(_ answer: Answer, _ question: Question, _ fault: Int) -> [UInt8] {
        let records = (answer.records + broken(question, fault)).map { record in
            let data: String
            switch record.data {
            case .address(let address): data = "\"\(address)\""
            case .alias(let target): data = "\"\(target).\""
            case .service: data = "null"
            }
            return #"{"name":"\#(record.owner).","type":\#(record.data.type),"TTL":\#(record.life),"data":\#(data)}"#
        }
        var text = #"{"Status":\#(answer.code),"TC":\#(fault == 3),"RD":true,"#
        let asked = #"{"name":"\#(fault == 2 ? "x" : "")\#(question.host).","type":\#(question.type)}"#
        text += #""Question":\#(question.type == 1 ? "[\(asked)]" : asked)"#
        if !records.isEmpty { text += #","Answer":[\#(records.joined(separator: ","))]"# }
        if let life = answer.negativeLife {
            text += #","Authority":[{"name":"test.","type":6,"TTL":\#(life)e0,"data":". . 1 2 3 4 \#(life)"}]"#
        }
        if answer.code == 2 { text += #","Comment":["no \u0061nswer","\n"]"# }
        text += "}"
        switch fault {
        case 0: text = "<html>"
        case 1: text = #"{"Status":"0"}"#
        case 4: text = "[1, true, null, -0.5e1]"
        case 5: text = String(text.dropLast(3))
        case 6: text = text.replacing(#""data":""#, with: #""data":"x"#)
        default: break
        }
        return Array(text.utf8)
    }
}
