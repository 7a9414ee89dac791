import HTTPDNSClient

/// Sends a failed request once more, when that can do no harm.
struct SecondChance: Interceptor {
    func intercept(
        _ request: ClientRequest,
        context: InterceptionContext,
        next: Next
    ) async throws -> ClientResponse {
        do {
            return try await next(request, context)
        } catch let error as HTTPDNSClientError where !error.requestMayHaveBeenSent && request.body.isReplayable {
            return try await next(request, context)
        }
    }
}

enum Interceptors {
    static func install() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [SecondChance()]

        return try await HTTPDNSClient(configuration: configuration)
    }
}
