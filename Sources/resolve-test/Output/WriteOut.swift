// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPTypes

/// The value of `-w`: a text with curl's variables, printed after the call.
struct WriteOut: Sendable {
    private enum Piece: Sendable {
        case text(String)
        case variable(String)
        case header(String)
    }

    private let pieces: [Piece]
    /// The names of variables that there are not. They are empty, as in curl.
    private(set) var unknown: [String] = []

    /// - Parameter argument: The text, or `@FILE` for the text in a file.
    /// - Throws: ``CommandFailure`` for a file that cannot be read.
    init(_ argument: String) throws(CommandFailure) {
        let format = argument.hasPrefix("@") ? try InputFile.text(argument.dropFirst(), option: "-w @") : argument
        var pieces: [Piece] = []
        var text = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            switch (character, rest.first) {
            case ("%", "%"):
                rest.removeFirst()
                text.append("%")
            case ("%", "{"),
                ("%", "h") where rest.hasPrefix("header{"):
                guard let end = rest.firstIndex(of: "}"), let start = rest.firstIndex(of: "{") else {
                    text.append("%")
                    continue
                }
                let name = String(rest[rest.index(after: start)..<end])
                let isHeader = rest.hasPrefix("header{")
                rest = rest[rest.index(after: end)...]
                if !isHeader, !Self.names.contains(name) { unknown.append(name) }
                pieces += [.text(text), isHeader ? .header(name) : .variable(name)]
                text = ""
            case ("\\", let letter?):
                rest.removeFirst()
                text += ["n": "\n", "r": "\r", "t": "\t"][letter] ?? "\\\(letter)"
            default: text.append(character)
            }
        }
        self.pieces = pieces + [.text(text)]
    }

    static let names: Set<String> = Values.names.union(["header_json", "json", "onerror", "stderr", "stdout"])

    func write(_ values: Values, on console: Console) throws(CommandFailure) {
        let terminals = (output: console.standardOutput.isTerminal, error: console.standardError.isTerminal)
        for part in text(values, escaping: { isError in isError ? terminals.error : terminals.output }) {
            if part.isError {
                console.standardError.say(part.text)
            } else {
                try console.standardOutput.write(part.text)
            }
        }
    }

    /// Returns the text for standard output and standard error, in order.
    /// - Parameter escapes: Returns whether control characters in values, which may be those of a server, are escaped on
    ///   standard error, or on standard output.
    func text(
        _ values: Values,
        escaping escapes: (_ isError: Bool) -> Bool = { _ in false }
    ) -> [(text: String, isError: Bool)] {
        var parts: [(text: String, isError: Bool)] = []
        var isError = false
        for piece in pieces {
            var text: String
            switch piece {
            case .text(let own): text = own
            case .header(let name):
                let field = values.headerFields.first { $0.name == name.lowercased() }?.values.first
                text = field.map { RawText.text($0) } ?? ""
            case .variable("stderr"), .variable("stdout"):
                if case .variable(let name) = piece { isError = name == "stderr" }
                text = ""
            case .variable("onerror"):
                guard values.hasFailed else { return parts }
                text = ""
            case .variable("json"): text = values.json.oneLine
            case .variable("header_json"): text = values.headerJSON.oneLine
            case .variable(let name): text = values.text(of: name)
            }
            if case .text = piece {} else if escapes(isError) { text = PrintableText.line(text) }
            if !text.isEmpty { parts.append((text, isError)) }
        }
        return parts
    }
}

extension WriteOut {
    struct Values: Sendable {
        enum Value: Sendable {
            case text(String?)
            case integer(Int)
            /// A status with three digits.
            case status(Int)
            case seconds(Double)
        }

        /// The variables with their values before a response.
        private static let defaults: [String: Value] = [
            "content_type": .text(nil), "errormsg": .text(nil), "exitcode": .integer(0),
            "filename_effective": .text(nil), "http_code": .status(0), "http_connect": .status(0),
            "http_version": .text("0"), "local_ip": .text(nil), "local_port": .integer(0), "method": .text(nil),
            "num_connects": .integer(0), "num_headers": .integer(0), "num_redirects": .integer(0),
            "redirect_url": .text(nil), "referer": .text(nil), "remote_ip": .text(nil), "remote_port": .integer(0),
            "response_code": .status(0), "scheme": .text(nil), "size_download": .integer(0),
            "size_header": .integer(0), "size_request": .integer(0), "size_upload": .integer(0),
            "speed_download": .integer(0), "speed_upload": .integer(0), "ssl_verify_result": .integer(0),
            "time_appconnect": .seconds(0), "time_connect": .seconds(0), "time_namelookup": .seconds(0),
            "time_pretransfer": .seconds(0), "time_redirect": .seconds(0), "time_starttransfer": .seconds(0),
            "time_total": .seconds(0), "url": .text(nil), "url_effective": .text(nil), "urlnum": .integer(0),
        ]

        static var names: Set<String> { Set(defaults.keys) }

        private(set) var values = Self.defaults
        /// The header fields, with their names in lower case, in the order of their first appearance.
        private(set) var headerFields: [(name: String, values: [HTTPField])] = []
        private(set) var hasFailed = false

        /// Creates the values of a call without a response.
        init(url: String, request: HTTPDNSClient.Request, fileName: String?) {
            values["url"] = .text(url)
            values["url_effective"] = .text(Self.shown(request.url))
            values["scheme"] = .text(request.url.prefix { $0 != ":" }.uppercased())
            values["method"] = .text(request.method.rawValue)
            values["referer"] = .text(request.headerFields[.referer])
            if let fileName, fileName != "-" { values["filename_effective"] = .text(fileName) }
        }

        private static func shown(_ url: String) -> String {
            if let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(url) { return canonical.description }
            // An unusable URL, without its user information.
            let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
            let rest = url.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
            return "\(scheme)\(host)\(rest.dropFirst(authority.count))"
        }

        subscript(name: String) -> Value? {
            get { values[name] }
            set { values[name] = newValue }
        }

        mutating func setHeaderFields(_ fields: HTTPFields) {
            headerFields = []
            for field in fields {
                let name = field.name.canonicalName
                if let index = headerFields.firstIndex(where: { $0.name == name }) {
                    headerFields[index].values.append(field)
                } else {
                    headerFields.append((name, [field]))
                }
            }
        }

        mutating func fail(_ failure: CommandFailure) {
            hasFailed = true
            values["exitcode"] = .integer(Int(failure.exitStatus))
            values["errormsg"] = .text(failure.message)
        }

        func text(of name: String) -> String {
            switch values[name] {
            case .text(let text): text ?? ""
            case .integer(let number): "\(number)"
            case .status(let number): number == 0 ? "000" : "\(number)"
            case .seconds(let seconds): Figures.fixed(seconds, places: 6)
            case nil: ""
            }
        }

        var json: JSONValue {
            .object(
                values.mapValues { value in
                    switch value {
                    case .text(let text): .optional(text)
                    case .integer(let number), .status(let number): .integer(number)
                    case .seconds(let seconds): .decimal(seconds, places: 6)
                    }
                }
            )
        }

        var headerJSON: JSONValue {
            var members: [String: JSONValue] = [:]
            var latin1: [JSONValue] = []
            for (name, fields) in headerFields {
                let values = fields.map { RawText.json($0) }
                members[name] = .array(values.map { .text($0.text) })
                if values.contains(where: \.isLatin1) { latin1.append(.text(name)) }
            }
            // No field has such a name.
            if !latin1.isEmpty { members[":latin1"] = .array(latin1) }
            return .object(members)
        }
    }
}

extension WriteOut.Values {
    /// Takes the values of a call that has ended: those of its response, or of the last one before its failure.
    /// - Parameters:
    ///   - call: The record of the call; nil when there is none.
    ///   - response: The response; nil for a call that failed without one.
    ///   - received: The bytes of its body.
    mutating func take(
        _ call: HTTPDNSClient.CallRecord?,
        _ response: HTTPDNSClient.Response?,
        received: Int,
        total: Duration,
        _ settings: ClientSettings
    ) {
        let seconds = total / .seconds(1)
        self["time_total"] = .seconds(seconds)
        guard let call, let request = call.details?.request else { return }
        let hops = call.hops
        takeBytes(of: hops, isBodyInMemory: request.body.knownLength != nil)
        let answered = hops.filter { $0.messages?.response != nil && !$0.isAnsweredInProcess }
        guard let head = response?.head ?? answered.last?.messages?.response else { return }
        takeHead(head, version: response?.version ?? answered.last?.exchange?.version)
        self["num_redirects"] = .integer(call.redirects)
        // The record of a call has 128 hops, and its response has the exchanges of all.
        let exchanges = response?.exchanges ?? answered.compactMap(\.exchange)
        self["num_connects"] = .integer(exchanges.count { !$0.reusedConnection })
        let method = (response == nil ? answered : hops).last?.method ?? request.method
        self["method"] = .text(method.rawValue)
        if let response {
            let size = response.body.summary?.wireBytes ?? received
            self["size_download"] = .integer(size)
            self["speed_download"] = .integer(seconds > 0 ? Int(Double(size) / seconds) : 0)
            if method == request.method { self["size_upload"] = .integer(request.body.knownLength ?? 0) }
        }
        if let hop = answered.last, let exchange = hop.exchange { take(exchange, hop.timings, head, settings) }
    }

    private mutating func takeBytes(of hops: [HTTPDNSClient.CallRecord.Hop], isBodyInMemory: Bool) {
        self["size_header"] = .integer(hops.reduce(0) { $0 + Int($1.responseHeadBytes ?? 0) })
        // curl counts a body in memory, which it sends together with the head, and no file.
        self["size_request"] = .integer(
            hops.reduce(0) { sum, hop in
                sum + Int(hop.requestHeadBytes ?? 0) + (isBodyInMemory ? Int(hop.requestBodyBytes ?? 0) : 0)
            }
        )
        guard let local = hops.last?.localEndpoint else { return }
        self["local_ip"] = .text(local.address.description)
        self["local_port"] = .integer(Int(local.port))
    }

    private mutating func takeHead(_ head: HTTPResponse, version: HTTPDNSClient.HTTPVersion?) {
        setHeaderFields(head.headerFields)
        self["http_code"] = .status(head.status.code)
        self["response_code"] = .status(head.status.code)
        self["http_version"] = .text(version == .http2 ? "2" : version == .http10 ? "1.0" : "1.1")
        self["content_type"] = .text(head.headerFields.singleton(.contentType).map { RawText.text($0) })
        self["num_headers"] = .integer(head.headerFields.count)
    }

    /// Takes the values of the last exchange with a server.
    private mutating func take(
        _ exchange: HTTPDNSClient.Exchange,
        _ timings: HTTPDNSClient.Exchange.Timings,
        _ head: HTTPResponse,
        _ settings: ClientSettings
    ) {
        let url = exchange.request.canonicalURL
        self["url_effective"] = .text(url)
        self["scheme"] = .text(url.prefix { $0 != ":" }.uppercased())
        self["remote_ip"] = .text(exchange.remote.address.description)
        self["remote_port"] = .integer(Int(exchange.remote.port))
        let trust = settings.configuration.trust(forHost: exchange.request.serverName ?? "")
        self["ssl_verify_result"] = .integer(exchange.tls == nil || trust.verification == .chainAndName ? 0 : 1)
        if (301...308).contains(head.status.code), let location = head.headerFields.singleton(.location),
            let target = try? ParsedURL(url).following(location.uriReference)
        {
            self["redirect_url"] = .text(target.description)
        }
        let lookup = exchange.resolve ?? .zero
        let connected = lookup + (timings.race ?? .zero) + (timings.connect ?? .zero)
        let encrypted = connected + (timings.tls ?? .zero)
        self["time_namelookup"] = .seconds(lookup / .seconds(1))
        self["time_connect"] = .seconds(connected / .seconds(1))
        self["time_appconnect"] = .seconds(timings.tls == nil ? 0 : encrypted / .seconds(1))
        self["time_pretransfer"] = .seconds(encrypted / .seconds(1))
        self["time_starttransfer"] = .seconds((encrypted + (timings.firstByte ?? .zero)) / .seconds(1))
    }
}
#endif
