// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension CurlOptions {
    /// Returns the request of a command line, and applies its options to the settings of the client.
    func request(
        _ urlText: String,
        _ options: RequestOptions,
        _ common: CommonOptions,
        _ settings: inout ClientSettings
    ) throws(CommandFailure) -> HTTPDNSClient.Request {
        var url = URLArgument.completed(urlText)
        try checkBody(options)
        if putsDataInQuery, !options.data.isEmpty {
            guard let query = String(validating: try DataArgument.bytes(options.data), as: UTF8.self) else {
                throw .usage("-G: the data are not UTF-8, so they cannot be a query", hint: "write --data-urlencode")
            }
            url = URLArgument.appending(query, to: url)
        }
        if let uploadFile, uploadFile != "-" { url = URLArgument.naming(uploadFile, in: url) }
        var request = try options.request(url, common, &settings, sendsData: !putsDataInQuery)
        try setBody(of: &request)
        if let method = try options.givenMethod {
            request.method = method
        } else if isHead {
            request.method = .head
        }
        try checkValues()
        addFields(to: &request)
        try addCredential(to: &request)
        try dropContentLength(from: &request, &settings)
        try addLimits(to: &request)
        try applyRedirects(options, to: &request, &settings)
        request.changeOptions {
            $0.decodesBody = decodesBody && !keepsCodings
            $0.keepsChunks = keepsCodings
        }
        // With both options curl asks for codings, and keeps them.
        if decodesBody, keepsCodings, !request.headerFields.contains(.acceptEncoding) {
            request.headerFields[.acceptEncoding] = "deflate, gzip, br, zstd"
        }
        if let retries {
            let policy = try retryPolicy(retries, request.method)
            request.changeOptions { $0.retries = policy }
        }
        try connection.apply(to: &request, &settings)
        return request
    }

    private func checkBody(_ options: RequestOptions) throws(CommandFailure) {
        let bodies = [
            options.data.isEmpty || putsDataInQuery ? nil : "-d", form.isEmpty ? nil : "-F",
            uploadFile.map { _ in "-T" }, isHead ? "-I" : nil,
        ].compactMap(\.self)
        guard bodies.count <= 1 else {
            throw .usage("\(bodies.joined(separator: " and ")) cannot be combined: each has its own method and body")
        }
    }

    private func setBody(of request: inout HTTPDNSClient.Request) throws(CommandFailure) {
        if !form.isEmpty {
            var parts: [HTTPDNSClient.Request.Body.Part] = []
            for text in form { parts.append(try FormArgument.part(text)) }
            request.body = .multipart(parts)
            request.method = .post
            // As in curl: a type of the caller gets the boundary of the body.
            if let own = request.headerFields[.contentType], let type = request.body.contentType {
                request.headerFields[.contentType] = own + type.drop { $0 != ";" }
            }
        }
        if let uploadFile {
            // The library reads regular files only. A file that is missing is an error of the call.
            let isStream = access(uploadFile, F_OK) == 0 && BodyDestination.size(ofFile: uploadFile) == nil
            if uploadFile == "-" || uploadFile == "." {
                request.body = .bytes(try InputFile.bytes("-", option: "-T "))
            } else if isStream {
                request.body = .bytes(try InputFile.bytes(uploadFile, option: "-T "))
            } else {
                request.body = .file(uploadFile)
            }
            request.method = .put
        }
    }

    private func addFields(to request: inout HTTPDNSClient.Request) {
        func add(_ name: HTTPField.Name, _ value: String) {
            if !request.headerFields.contains(name) {
                request.headerFields.append(HTTPField(name: name, value: RawText.bytes(value)))
            }
        }
        // An empty value means no such field, which the client sends in no case.
        if let userAgent, !userAgent.isEmpty { add(.userAgent, userAgent) }
        if let referer, !referer.isEmpty { add(.referer, referer) }
        if !cookies.isEmpty {
            request.headerFields.append(HTTPField(name: .cookie, value: RawText.bytes(cookies.joined(separator: "; "))))
        }
        // As in curl: a number alone is the first byte.
        if let range { add(.range, "bytes=\(range)\(range.allSatisfy(\.isNumber) ? "-" : "")") }
    }

    /// Refuses values that could not be sent in a header field. They may be secrets, so no error repeats them.
    private func checkValues() throws(CommandFailure) {
        let values = [("-A", userAgent), ("-e", referer), ("-r", range), ("--oauth2-bearer", bearerToken)]
        for (option, value) in values + cookies.map({ ("-b", $0) }) {
            guard value.map(HTTPField.isValidValue) ?? true else {
                throw .usage("\(option): the value cannot have a line break or another control character")
            }
        }
    }

    /// Removes a Content-Length that the client sends anyway. Another one could end the request early or never.
    private func dropContentLength(
        from request: inout HTTPDNSClient.Request,
        _ settings: inout ClientSettings
    ) throws(CommandFailure) {
        guard let text = request.headerFields[.contentLength] else { return }
        let length = request.body.knownLength ?? uploadFile.flatMap { BodyDestination.size(ofFile: $0) }
        guard let number = Int(digits: text), number == length else {
            throw .usage(
                "-H \"Content-Length: ...\" is not the length of the body\(length.map { ", \($0)" } ?? "")",
                hint: "leave it out: the client sends it"
            )
        }
        request.headerFields[.contentLength] = nil
        settings.notes.append("-H 'Content-Length: ...' has no effect: the client sends it")
    }

    private func addCredential(to request: inout HTTPDNSClient.Request) throws(CommandFailure) {
        for _ in cookies.filter({ !$0.contains("=") }) {
            throw .usage("-b has a value without =: cookies are not read from a file", hint: "write -b 'NAME=VALUE'")
        }
        if let referer, referer.hasSuffix(";auto") {
            throw .usage("-e ...;auto is not supported: redirects get no new Referer", hint: "write -e URL")
        }
        var value: String?
        if let user {
            guard let colon = user.firstIndex(of: ":") else {
                throw .usage("-u has no password, and fetch does not ask for one", hint: "write -u USER:PASSWORD")
            }
            if usesDigest, !usesBasic {
                let password = String(user[user.index(after: colon)...])
                let name = String(user[..<colon])
                let credential = HTTPDNSClient.Credential.digest(user: name, password: HTTPDNSSecret { password })
                request.changeOptions { $0.credential = credential }
            } else {
                value = "Basic " + Base64.text(Array(user.utf8))
            }
        }
        // As in curl: a credential on the command line is sent over http too. Those of a file follow its own setting, see
        // ``applyRedirects``.
        if request.options.credential != nil || (try? ParsedURL(request.url))?.credential != nil {
            request.changeOptions { $0.allowsCleartextCredentials = true }
        }
        if let bearerToken { value = "Bearer \(bearerToken)" }
        guard let value, !request.headerFields.contains(.authorization) else { return }
        var field = HTTPField(name: .authorization, value: value)
        field.indexingStrategy = .disallow
        request.headerFields.append(field)
    }

    private func addLimits(to request: inout HTTPDNSClient.Request) throws(CommandFailure) {
        if let rateLimit, let bytes = try ByteArgument.bytes(rateLimit, of: "--limit-rate") {
            request.changeOptions { $0.bandwidth = .init(receiving: .bytes(bytes), sending: .bytes(bytes)) }
        }
        if let maximumBody {
            let limit = try ByteArgument.bytes(maximumBody, of: "--max-filesize")
            request.changeOptions { $0.maximumResponseBody = limit.map { .bytes($0) } }
        }
    }

    private func retryPolicy(_ limit: Int, _ method: HTTPRequest.Method) throws(CommandFailure)
        -> HTTPDNSClient.RetryPolicy
    {
        guard (0...100).contains(limit) else { throw .usage("--retry \(limit) is out of range; allowed: 0 to 100") }
        if let retryDelay, !(0...3600).contains(retryDelay) {
            throw .usage("--retry-delay is out of range; allowed: 0 to 3600 seconds")
        }
        var policy = HTTPDNSClient.RetryPolicy()
        policy.limit = limit
        policy.methods.insert(method)
        policy.statuses = retriesEverything ? Set(400...599) : [408, 429, 500, 502, 503, 504]
        policy.errors = [.timedOut]
        if retriesConnecting || retriesEverything { policy.errors.formUnion([.connectFailed, .proxyUnreachable]) }
        if retriesEverything { policy.errors.formUnion([.connectionLost, .resolveFailed, .transportFailed]) }
        let delay = retryDelay.flatMap { $0 > 0 ? Duration.seconds($0) : nil }
        policy.delay = delay ?? .seconds(1)
        policy.maximumDelay = delay ?? .seconds(600)
        policy.maximumRetryAfter = .seconds(600)
        return policy
    }
}

extension CurlOptions {
    /// The limit of redirects with `-L`; nil for that of the file.
    private var redirectLimit: Int? {
        get throws(CommandFailure) {
            guard let maximumRedirects else { return nil }
            guard (-1...100).contains(maximumRedirects) else {
                throw .usage("--max-redirs \(maximumRedirects) is out of range; allowed: -1 to 100")
            }
            return maximumRedirects < 0 ? 100 : maximumRedirects
        }
    }

    var isFollowing: Bool { followsRedirects || trustsRedirects }

    private func applyRedirects(
        _ options: RequestOptions,
        to request: inout HTTPDNSClient.Request,
        _ settings: inout ClientSettings
    ) throws(CommandFailure) {
        let limit = try redirectLimit
        guard isFollowing else {
            if maximumRedirects != nil { settings.notes.append("without -L, --max-redirs has no effect") }
            request.changeOptions { $0.redirects = .off }
            return
        }
        var policy = settings.configuration.redirects
        if let limit {
            policy.limit = limit
        } else if !settings.readsFile {
            policy.limit = Self.defaultRedirects
        }
        request.changeOptions { [policy] in $0.redirects = policy }
        let method = try options.givenMethod
        let (trusts, headers) = (trustsRedirects, request.headerFields)
        let protocols = try AllowedProtocols(connection)
        let connectTo = try ConnectToRules(connection.connectTo, request.url)
        try connectTo.checkForRedirects()
        // A typed login is for its own origin.
        let withheld =
            request.options.allowsCleartextCredentials == true && !settings.configuration.allowsCleartextCredentials
            ? settings.configuration.credentials : [:]
        let isChanging = trusts || method != nil || connectTo.holdForEveryHost
        guard isChanging || protocols.limitsRedirects || !withheld.isEmpty else { return }
        settings.configuration.redirectHook = { redirect in
            var next = redirect.next
            if let refusal = protocols.refusal(of: next.url, isRedirect: true) {
                throw HTTPDNSClientError(code: .redirectRefused, phase: .redirect, message: refusal, hint: nil)
            }
            let isWithheld =
                redirect.changesOrigin && HTTPDNSClient.Origin(next.url).map { withheld[$0] != nil } ?? false
            guard isChanging || isWithheld else { return .follow }
            if isWithheld { next.changeOptions { $0.allowsCleartextCredentials = false } }
            if connectTo.holdForEveryHost {
                next.changeOptions { [url = next.url] in
                    $0.addresses = connectTo.targets(for: url).map { .only($0) } ?? .automatic
                }
            }
            // -X names the method of every request of the call.
            if let method { next.method = method }
            if trusts {
                for name in redirect.droppedFields {
                    next.headerFields.append(contentsOf: headers.filter { $0.name == name && $0.name != .contentType })
                }
            }
            return .change(next)
        }
    }

    /// The limit of curl.
    static let defaultRedirects = 50

    /// The failure when a redirect would be one too many and the client returned it, because the limit is 0.
    func refusal(of status: Int, location: String?) -> CommandFailure? {
        guard isFollowing, maximumRedirects == 0, FetchReport.redirects.contains(status), location != nil else {
            return nil
        }
        var failure = CommandFailure.failed(
            code: "\(HTTPDNSClientError.Code.tooManyRedirects)",
            "the origin redirects, and --max-redirs 0 follows no redirect",
            hint: "without -L the redirect is the response",
            curlStatus: CurlExitStatus.tooManyRedirects
        )
        failure.requestMayHaveBeenSent = true
        return failure
    }
}

enum URLArgument {
    /// Returns the URL with a scheme: http unless there is one, as in curl. `http:/one.test` stays, and is refused.
    static func completed(_ text: String) -> String {
        let beforePath = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let hasScheme = beforePath.hasSuffix(":") && text.dropFirst(beforePath.count).hasPrefix("//")
        let lower = text.lowercased()
        return hasScheme || lower.hasPrefix("http:") || lower.hasPrefix("https:") ? text : "http://\(text)"
    }

    /// Reads a URL that must have a scheme.
    /// - Throws: ``CommandFailure``, which names the URL without its user information.
    static func parsed(_ text: String) throws(CommandFailure) -> ParsedURL {
        let shown = URLText.forErrors(text)
        func unusable(_ reason: String, hint: String? = nil) -> CommandFailure {
            let message = "the URL \"\(shown)\" cannot be requested: \(reason)"
            return CommandFailure(
                kind: .usage,
                code: "\(HTTPDNSClientError.Code.invalidURL)",
                message: message,
                hint: hint
            )
        }
        do {
            return try ParsedURL(text)
        } catch {
            let hint = text.isEmpty || completed(text) == text ? nil : "write https://\(shown); only fetch adds http"
            throw unusable("\(error)", hint: hint)
        }
    }

    /// Returns the URL with more items in its query.
    static func appending(_ query: String, to url: String) -> String {
        let base = url.prefix { $0 != "#" }
        guard !query.isEmpty || base.contains("?") else { return url }
        let old = base.firstIndex(of: "?").map { base[base.index(after: $0)...] }
        let separator = old.map { $0.isEmpty || $0.hasSuffix("&") ? "" : "&" } ?? "?"
        return "\(base)\(separator)\(query)\(url.dropFirst(base.count))"
    }

    /// Returns the URL with the name of an uploaded file behind it, if its path ends with a slash.
    static func naming(_ file: String, in url: String) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        let path = url[..<end]
        let hasPath = path.drop { $0 != ":" }.dropFirst("://".count).contains("/")
        guard path.hasSuffix("/") || !hasPath, let name = file.split(separator: "/").last else { return url }
        let encoded = DataArgument.percentEncoded(Array(name.utf8), blank: "%20")
        return "\(path)\(hasPath ? "" : "/")\(String(decoding: encoded, as: UTF8.self))\(url[end...])"
    }

    /// Returns the last part of the path, the name of the file of `-O`.
    /// - Throws: ``CommandFailure`` for a path without a name.
    static func fileName(of url: String) throws(CommandFailure) -> String {
        let path = url.prefix { $0 != "?" && $0 != "#" }.drop { $0 != ":" }.dropFirst("://".count)
        let name = path.contains("/") ? path.split(separator: "/", omittingEmptySubsequences: false).last ?? "" : ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .usage("-O: the URL has no file name", hint: "name the file with -o FILE")
        }
        return String(name)
    }
}
#endif
