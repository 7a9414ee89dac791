// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import HTTPDNS
internal import HTTPTypes

/// The options of commands that send a request to an origin: its method, fields, body and time limit.
struct RequestOptions: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Request method; GET if left out, POST with -d.", valueName: "METHOD")
    )
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Header field: 'Name: value'. Repeatable.", valueName: "FIELD")
    )
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Request body; @FILE reads a file without its line breaks, as curl does. Repeatable.",
            valueName: "DATA"
        )
    )
    var data: [String] = []

    @Option(
        name: .customLong("data-binary"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Request body; @FILE reads a file unchanged. Repeatable.", valueName: "DATA")
    )
    var binaryData: [String] = []

    @Option(
        name: .customLong("max-time"),
        help: ArgumentHelp("Time limit for the whole call, in seconds.", valueName: "SECONDS")
    )
    var maximumSeconds: Double?

    /// Returns the request. Adds a note to the settings when a field of the caller replaces the Host.
    func request(
        _ url: String,
        _ common: CommonOptions,
        _ settings: inout ClientSettings
    ) throws(CommandFailure) -> HTTPDNSClient.Request {
        var header = try HeaderArgument(headers)
        var request = HTTPDNSClient.Request(url: url, options: settings.requestOptions(common))
        if !data.isEmpty || !binaryData.isEmpty {
            guard data.isEmpty || binaryData.isEmpty else {
                throw .usage("-d and --data-binary cannot be combined", hint: "use one of them for all parts")
            }
            let isBinary = data.isEmpty
            request.body = .bytes(try DataArgument.bytes(isBinary ? binaryData : data, keepsLineBreaks: isBinary))
            request.method = .post
            if header.fields[.contentType] == nil {
                header.fields[.contentType] = "application/x-www-form-urlencoded"
            }
        }
        if let method {
            guard let parsed = HTTPRequest.Method(rawValue: method) else {
                throw .usage("-X \"\(method)\" is not a method", hint: "such as GET, POST or PURGE")
            }
            request.method = parsed
        }
        request.headerFields = header.fields
        if let hostHeader = header.hostHeader {
            request.options.hostHeader = hostHeader
            settings.notes.append(
                "Host \"\(hostHeader)\" replaces the URL's host in this field only; SNI, certificate and address are the URL's"
                    + " (to change the address, keep the name in the URL and use --map)"
            )
        }
        try applyTimeLimit(to: &request, &settings)
        return request
    }

    private func applyTimeLimit(to request: inout HTTPDNSClient.Request, _ settings: inout ClientSettings)
        throws(CommandFailure)
    {
        if let maximumSeconds {
            guard maximumSeconds > 0, maximumSeconds <= 1e9 else {
                throw .usage(
                    "--max-time is out of range; allowed: more than 0 and at most 1,000,000,000 seconds",
                    hint: "such as --max-time 2.5"
                )
            }
            request.options.timeout = .seconds(maximumSeconds)
            settings.configuration.timeouts.total = nil
        } else if !settings.readsFile {
            // A download may take as long as bytes keep coming; the idle limit stays.
            settings.configuration.timeouts.total = nil
        }
    }
}
