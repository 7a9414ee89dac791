// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes
public import Logging

extension HTTPDNSTrafficMonitor.Exporter {
    /// Creates an exporter that posts each batch to a URL: one JSON object for each line (`application/x-ndjson`), with the
    /// identifier of the batch in `Idempotency-Key`.
    ///
    /// A 2xx response means that the batch has arrived. After 408, 425, 429, a 5xx response and a failure it is sent again, not
    /// before the response's `Retry-After`. After 413 its halves are sent. Any other response refuses it.
    ///
    /// No monitor records or counts these requests, also when one is started on the client.
    /// - Parameters:
    ///   - url: The URL of the collector. Its user information is refused: use a header field.
    ///   - client: The client that sends. It is shut down after the exporter is closed.
    ///   - headerFields: Further header fields, such as a credential.
    ///   - limits: The sizes and times.
    ///   - timeout: The time limit of one sending.
    ///   - logger: The logger of the warning; nil for none.
    /// - Throws: `HTTPDNSClientError` with code `configuration` for a text that is no http or https URL, and for one with user
    ///   information.
    public convenience init(
        to url: String,
        through client: HTTPDNSClient,
        headerFields: HTTPFields = [:],
        limits: Limits = Limits(),
        timeout: Duration = .seconds(30),
        logger: Logger? = nil
    ) throws {
        let collector = try Collector(url, client, headerFields, timeout: timeout)
        self.init(limits: limits, logger: logger) { try await collector.take($0) }
    }
}

/// The mark of a request that exports records. Its value is a type of the module, so no other module can set it.
enum IsReport: HTTPDNSClient.RequestProperty {
    typealias Value = Mark

    struct Mark: Sendable {}
}

extension HTTPDNSTrafficMonitor.Exporter {
    /// A server that takes batches by `POST`.
    struct Collector: Sendable {
        private let client: HTTPDNSClient
        private let request: HTTPDNSClient.Request

        init(_ url: String, _ client: HTTPDNSClient, _ headerFields: HTTPFields, timeout: Duration = .seconds(30))
            throws
        {
            self.client = client
            do {
                _ = try HTTPDNSRewriter.Canonicalizer.canonicalize(url)
            } catch {
                throw HTTPDNSClientError(
                    code: .configuration,
                    phase: .configuration,
                    message: "the collector of traffic records has no valid URL: \(error)",
                    hint: "use an http or https URL, such as https://collector.example/traffic"
                )
            }
            guard URLText.withoutUserInformation(url) == url else {
                throw HTTPDNSClientError(
                    code: .configuration,
                    phase: .configuration,
                    message:
                        "the collector of traffic records has user information in its URL \(URLText.forErrors(url))",
                    hint: "put the credential into a header field, such as Authorization"
                )
            }
            var request = HTTPDNSClient.Request(method: .post, url: url, headerFields: headerFields)
            request.headerFields[.contentType] = "application/x-ndjson"
            request.changeOptions { options in
                (options.timeouts.total, options.timeouts.responseHead) = (timeout, nil)
                options.redirects = .off
            }
            request[IsReport.self] = IsReport.Mark()
            self.request = request
        }

        func take(_ batch: HTTPDNSTrafficMonitor.Exporter.Batch) async throws {
            var request = request
            if let name = HTTPField.Name("Idempotency-Key") { request.headerFields[name] = batch.id }
            request.body = .bytes(batch.lines)
            let response = try await client.execute(request)
            let status = response.status
            // A connection whose response was read is kept. Nothing depends on the body.
            _ = try? await response.body.collect(upTo: .kibibytes(64))
            guard status.kind != .successful else { return }
            let text = "the collector answered \(status.code)"
            guard [408, 425, 429].contains(status.code) || status.kind == .serverError else {
                let isTooLarge = status.code == 413
                throw HTTPDNSTrafficMonitor.Exporter.Refusal(text, isTooLarge: isTooLarge)
            }
            let now = WallClock.system.now() / 1000
            throw HTTPDNSTrafficMonitor.Exporter.Delay(
                text,
                retryAfter: RetryAfter.wait(in: response.headerFields, now: now)
            )
        }
    }
}
