// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPDNSCurl

/// `explain URL`: the rewritten request; nothing is sent to the origin.
struct ExplainCommand: Subcommand {
    static let name = "explain"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Print where a request would go, and why.",
        discussion: "Resolves the name, which may query a provider. Sends nothing to the origin."
    )

    @Argument(help: ArgumentHelp("An http or https URL.", valueName: "URL")) var url: String

    @OptionGroup var common: CommonOptions

    func perform(on console: Console) async throws -> Int32 {
        if URLArgument.completed(url) != url { _ = try URLArgument.parsed(url) }
        let settings = try ClientSettings(common, environment: console.environment)
        let change = settings.requestOptions(common)
        let rewrite = try await settings.withClient { client in
            let given = try await client.rewrite(url, change)
            let options = client.resolved(HTTPDNSClient.Request(url: url, change)).options
            let rewritten = try client.inOrderOfFirstRequest(given, options: options)
            return try RewriteView(
                rewritten,
                egressChoice: try client.egressChoice(of: rewritten, options: options),
                orderRule: client.addressOrderRule(of: rewritten)
            )
        }

        console.note(settings.remarks(on: [rewrite.resolution]), unless: common.output.isJSON)
        let report = ExplainReport(
            rewrite: rewrite,
            providerKinds: settings.providerKinds,
            certificateAuthorityFile: common.certificateAuthorityFile,
            isVerbose: common.output.isVerbose,
            reachableNetworks: settings.configuration.reachableNetworks
        )
        try console.write(common.output, json: report.json().indented + "\n", text: report.text)
        return ExitStatus.done
    }
}

/// The report of `explain`: the rewritten request, and the reasons.
struct ExplainReport {
    var rewrite: RewriteView
    var providerKinds: [String: String]
    /// The file of `--cacert`, for the curl line.
    var certificateAuthorityFile: String?
    /// Whether the values for libcurl are shown.
    var isVerbose: Bool
    var reachableNetworks = HTTPDNSClient.ReachableNetworks.any

    private static let labelWidth = 14

    func text(_ screen: Screen) -> String {
        var lines = [
            line("original", [rewrite.originalURL], screen),
            line("address form", [rewrite.addressURL, "Host \(rewrite.host)", identity] + through, screen),
            line("why", [reason, words.failures], screen),
            line("candidates", candidates + [policy], screen),
            line("lifetime", [lifetime], screen),
        ]
        if let canonicalName = rewrite.resolution.canonicalName {
            lines.append(line("alias of", ["\(canonicalName)"], screen))
        }
        let reasons = rewrite.resolution.extendedErrors.map(\.description)
        if !reasons.isEmpty { lines.append(line("server says", reasons, screen)) }
        let command = CurlCommand.text(rewrite, certificateAuthorityFile: certificateAuthorityFile)
        lines.append(
            LabelledLine.text(
                "curl",
                [PrintableText.line(command)],
                labelWidth: Self.labelWidth,
                screen: screen,
                isVerbatim: true
            )
        )
        if isVerbose, !pinOptions.isEmpty { lines.append(line("libcurl gets", pinOptions, screen)) }
        return lines.joined()
    }

    func json() -> JSONValue { .object(rewrite.members) }

    private func line(_ label: String, _ segments: [String], _ screen: Screen) -> String {
        LabelledLine.text(label, segments.map(PrintableText.line), labelWidth: Self.labelWidth, screen: screen)
    }

    private var policy: String {
        let source = "policy: allowed (\(rewrite.resolution.source))"
        return reachableNetworks == .any ? source : "\(source), reachable: \(reachableNetworks)"
    }

    private var words: ResolutionText {
        ResolutionText(resolution: rewrite.resolution, providerKinds: providerKinds)
    }

    private var through: [String] {
        switch rewrite.egressChoice {
        case .direct: []
        case .proxy(let proxy): ["through \(proxy)"]
        case .unixSocket(let path): ["through \(path)"]
        }
    }

    private var identity: String {
        if let serverName = rewrite.serverName { return "SNI and certificate \(serverName)" }
        return rewrite.isTLS ? "no SNI, certificate for the address" : "clear text: no SNI, no certificate"
    }

    private var reason: String { RewriteReason.text(rewrite.resolution, words: words) }

    private var candidates: [String] {
        let targets = rewrite.resolution.mapping?.targets ?? []
        let endpoints = rewrite.resolution.endpoints
        let isRandom = endpoints.count > 1 && rewrite.orderRule?.isRandom == true
        let next = rewrite.wasSent ? nil : endpoints.first
        let chosen = endpoints.count > 1 && !isRandom ? rewrite.answered ?? next : nil
        let texts = endpoints.map { endpoint in
            var text = EndpointText.text(endpoint, urlPort: rewrite.urlPort)
            let target = targets.first {
                $0.address == endpoint.address && ($0.port ?? rewrite.urlPort) == endpoint.port
            }
            if let weight = target?.weight { text += " weight \(weight)" }
            return endpoint == chosen ? text + " <- chosen" : text
        }
        return isRandom ? texts + ["(random: drawn for each request)"] : texts
    }

    private var lifetime: String {
        let age = "age \(Figures.lifetime(rewrite.resolution.age))"
        let tag = rewrite.isTagged ? "tag set" : "no tag: nothing was rewritten"
        return [age, words.lifetime, "generation \(rewrite.resolution.generation)", tag].joined(separator: ", ")
    }

    /// The two options of the pin, with a placeholder for the name: each transport generates its own, and only while it sends.
    private var pinOptions: [String] {
        guard let endpoint = rewrite.resolution.endpoints.first else { return [] }
        let pin = "p1.invalid"
        return [
            "CONNECT_TO \(rewrite.urlHost):\(rewrite.urlPort):\(pin):\(endpoint.port)",
            "RESOLVE +\(pin):\(endpoint.port):\(endpoint.address.bracketed)",
            "(\(pin) stands for a name made up for each connection)",
        ]
    }
}

/// The reason for a request's destination.
enum RewriteReason {
    static func text(_ resolution: HTTPDNSResolver.Resolution, words: ResolutionText) -> String {
        var steps: [String] = []
        if let rule = resolution.mapping { steps.append(mapping(rule)) }
        switch resolution.source {
        case .request: steps.append("the request names its addresses itself")
        case .literal: steps.append("the URL has an address or localhost: no query")
        case .mapping: steps.append("no provider asked")
        case .lastResort: steps.append("last resort, because no source has an address")
        case .proxy: steps.append("the proxy gets the name and looks it up: no query here")
        case .unixSocket: steps.append("it goes to a Unix socket: no query")
        case .system: steps.append(contentsOf: system(resolution, words))
        default: steps.append(contentsOf: provider(resolution, words))
        }
        return steps.joined(separator: " > ")
    }

    private static func mapping(_ rule: HTTPDNSResolver.AppliedMapping) -> String {
        let place = place(rule.location)
        let via = rule.via.isEmpty ? "" : " via \(rule.via.map(\.description).joined(separator: ", "))"
        let layer = rule.origin == .overlay ? " (applied)" : ""
        return "mapping \"\(rule.key)\"\(place)\(layer)\(via)"
    }

    private static func system(_ resolution: HTTPDNSResolver.Resolution, _ words: ResolutionText) -> [String] {
        let asked =
            resolution.isCached ? "system resolver, cached" : "system resolver, \(Figures.phase(resolution.elapsed))"
        if let entry = resolution.switchedOff {
            return ["\(entry.scope) switched off by \(entry.origin.rawValue)", asked]
        }
        switch resolution.systemReason {
        case .outsideRollout: return ["outside the rollout of its route", asked]
        case .shadow: return ["its route is in shadow mode", asked]
        default: break
        }
        guard let route = resolution.route else {
            return !resolution.isMapped ? ["no mapping, no route", asked] : [asked]
        }
        return [text(route), asked]
    }

    private static func provider(_ resolution: HTTPDNSResolver.Resolution, _ words: ResolutionText) -> [String] {
        let asked =
            resolution.isCached
            ? "\(words.source), \(words.freshness)" : "\(words.source), \(Figures.phase(resolution.elapsed))"
        return [resolution.route.map(text), asked].compactMap { $0 }
    }

    private static func text(_ route: HTTPDNSRoute) -> String {
        "route \"\(route.pattern)\"" + place(route.location)
    }

    private static func place(_ location: HTTPDNSSourceLocation?) -> String {
        location.map { $0.line == nil ? " from \($0)" : " at \($0)" } ?? ""
    }
}

/// The same request for the command-line client.
enum CurlCommand {
    static func text(_ rewrite: RewriteView, certificateAuthorityFile: String?) -> String {
        // The URL is sent as it is: brackets and braces are no patterns, and dot segments stay.
        var arguments = ["curl", "-g", "--path-as-is"]
        let endpoints = rewrite.resolution.endpoints
        switch rewrite.egressChoice {
        case .direct: break
        case .unixSocket(let path): arguments += ["--unix-socket", path]
        case .proxy(let proxy):
            arguments += ["-x", proxy.description]
            // The credentials appear in no text.
            if proxy.credential != nil { arguments += ["-U", "USER:PASSWORD"] }
        }
        // `--resolve` can change neither the port nor the host that an HTTP proxy receives.
        let isTold = rewrite.egressChoice.proxy?.takesAddresses == true && rewrite.resolution.source != .literal
        if let first = endpoints.first, isTold || endpoints.contains(where: { $0.port != rewrite.urlPort }) {
            arguments += [
                "--connect-to",
                "\(rewrite.urlHost):\(rewrite.urlPort):\(first.address.bracketed):\(first.port)",
            ]
        } else if rewrite.resolution.source != .literal, !rewrite.resolveEntry.isEmpty {
            arguments += ["--resolve", rewrite.resolveEntry]
        }
        if rewrite.isTLS, let certificateAuthorityFile { arguments += ["--cacert", certificateAuthorityFile] }
        let authority =
            rewrite.urlPort == (rewrite.isTLS ? 443 : 80) ? rewrite.urlHost : "\(rewrite.urlHost):\(rewrite.urlPort)"
        if rewrite.host != authority { arguments += ["-H", "Host: \(rewrite.host)"] }
        // The URL is always quoted, because users change its query.
        return arguments.map(ShellText.quoted).joined(separator: " ") + " "
            + ShellText.alwaysQuoted(rewrite.canonicalURL)
    }
}

/// The parts of a rewritten request that the reports need.
struct RewriteView: Sendable {
    var originalURL: String
    var canonicalURL: String
    var addressURL: String
    /// The Host field as sent.
    var host: String
    /// The name for SNI and the certificate; nil for clear text and literals.
    var serverName: String?
    /// The value of curl's `--resolve`; empty without addresses.
    var resolveEntry: String
    var resolution: HTTPDNSResolver.Resolution
    var isTagged: Bool
    var urlHost: String
    var urlPort: UInt16
    /// The proxy or Unix socket of the request.
    var egressChoice = EgressChoice.direct
    /// The rule of the order of the addresses; nil when it is not known.
    var orderRule: AddressOrderRule?
    var answered: HTTPDNSEndpoint?
    /// Whether the request was sent, or was to be sent and failed.
    var wasSent = false

    var isTLS: Bool { canonicalURL.hasPrefix("https://") }

    /// The members of `explain --json`. Docs/CommandLine.md describes them.
    var members: [String: JSONValue] {
        ResolutionJSON.members(resolution, urlPort: urlPort).adding([
            "originalURL": .text(originalURL),
            "addressURL": .text(addressURL),
            "host": .text(host),
            "serverName": .optional(serverName),
            "resolveEntry": resolveEntry.isEmpty ? .null : .text(resolveEntry),
            "location": .optional(resolution.mapping?.location?.description),
            "failedProviders": .array(resolution.failedAttempts.map(ProviderAttemptReport.json)),
            "tagged": .bool(isTagged),
            "order": .optional(resolution.endpoints.count > 1 ? orderRule?.rawValue : nil),
        ])
    }
}

extension RewriteView {
    init(
        _ request: HTTPDNSRewriter.RewrittenRequest,
        egressChoice: EgressChoice,
        orderRule: AddressOrderRule? = nil
    ) throws(CommandFailure) {
        let url: ParsedURL
        do {
            url = try ParsedURL(request.canonicalURL)
        } catch {
            throw .usage("\(error)")
        }
        self.init(
            originalURL: request.originalURL,
            canonicalURL: request.canonicalURL,
            addressURL: request.addressURL,
            host: request.host,
            serverName: request.serverName,
            resolveEntry: request.resolveEntry,
            resolution: request.resolution,
            isTagged: request.tag != nil,
            urlHost: url.hostText,
            urlPort: url.port,
            egressChoice: egressChoice,
            orderRule: orderRule
        )
    }

    /// Creates the view of a request whose host has no known addresses.
    init(unresolved url: String, host: String, urlHost: String, urlPort: UInt16) {
        self.init(
            originalURL: url,
            canonicalURL: url,
            addressURL: url,
            host: host,
            resolveEntry: "",
            resolution: HTTPDNSResolver.Resolution(endpoints: [], source: .request),
            isTagged: false,
            urlHost: urlHost,
            urlPort: urlPort
        )
    }

    /// Creates the view of a request that was sent.
    init(
        sent request: HTTPDNSRewriter.RewrittenRequest,
        by client: HTTPDNSClient,
        answered: HTTPDNSEndpoint?
    ) throws(CommandFailure) {
        // Those of the client: a call's own are not in its response.
        let options = client.resolved(HTTPDNSClient.Request(url: "")).options
        try self.init(
            request,
            egressChoice: (try? client.egressChoice(of: request, options: options)) ?? .direct,
            orderRule: client.addressOrderRule(of: request)
        )
        (self.answered, wasSent) = (answered, true)
    }
}
#endif
