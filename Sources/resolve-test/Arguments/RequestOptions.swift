// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS
internal import HTTPTypes

/// The options of commands that send a request to an origin: its method, fields, body and time limit.
struct RequestOptions: ParsableArguments, Sendable {
    @Option(curl: "-X --request", "METHOD", "Request method; GET if left out, POST with -d.") var method: String?
    @Option(curl: "-H --header", "FIELD", "Header field: 'Name: value'; @FILE reads some. Repeatable.")
    var headers: [String] = []
    @Option(
        curl: "-d --data --data-ascii --data-binary --data-raw --data-urlencode",
        "DATA",
        "Request body by curl's rules; @FILE reads a file. Repeatable, in any mixture."
    )
    var data: [DataArgument] = []
    @Option(curl: "-m --max-time", "SECONDS", "Time limit for each call, its body included, in seconds.")
    var maximumSeconds: Double?

    /// Returns the request. Adds a note to the settings when a field of the caller replaces the Host.
    /// - Parameter sendsData: Whether the data are the body of the request.
    func request(
        _ url: String,
        _ common: CommonOptions,
        _ settings: inout ClientSettings,
        sendsData: Bool = true
    ) throws(CommandFailure) -> HTTPDNSClient.Request {
        var header = try HeaderArgument(headers)
        var request = HTTPDNSClient.Request(url: url, settings.requestOptions(common))
        if sendsData, !data.isEmpty {
            request.body = .bytes(try DataArgument.bytes(data))
            request.method = .post
            if header.fields[.contentType] == nil, !header.removed.contains(.contentType) {
                header.fields[.contentType] = "application/x-www-form-urlencoded"
            }
        }
        if let method = try givenMethod { request.method = method }
        settings.notes += header.notes
        request.headerFields = header.fields
        request.changeOptions { [removed = header.removed] in $0.withoutHeaders.formUnion(removed) }
        if let hostHeader = header.hostHeader {
            request.changeOptions { $0.hostHeader = hostHeader }
            settings.notes.append(
                "Host \"\(hostHeader)\" replaces the URL's host in this field only; SNI, certificate and address are the URL's"
                    + " (to change the address, keep the name in the URL and use --map)"
            )
        }
        try applyTimeLimit(to: &request, &settings)
        return request
    }

    /// The method of `-X`; nil without it.
    var givenMethod: HTTPRequest.Method? {
        get throws(CommandFailure) {
            guard let method else { return nil }
            guard let parsed = HTTPRequest.Method(rawValue: method) else {
                throw .usage("-X \"\(method)\" is not a method", hint: "such as GET, POST or PURGE")
            }
            return parsed
        }
    }

    private func applyTimeLimit(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings)
        throws(CommandFailure)
    {
        if let maximumSeconds, let limit = try DurationArgument.limit(maximumSeconds, of: "--max-time") {
            request.changeOptions {
                $0.timeouts.total = .seconds(limit)
                $0.timeouts.responseHead = nil
            }
        }
        // A download may take as long as bytes keep coming; the idle limit stays.
        if maximumSeconds != nil || !settings.readsFile { settings.configuration.timeouts.total = nil }
    }
}
#endif
