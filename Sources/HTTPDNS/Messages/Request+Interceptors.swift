// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSClient.Request {
    /// The interceptors of this call alone that run once per call, inside those of the client. The list is read when the
    /// call begins: one that an interceptor changes has no effect.
    public var applicationInterceptors: [any HTTPDNSClient.Interceptor] {
        get { own?.interceptors.application.map(\.interceptor) ?? [] }
        set { changeOwn { own in own.interceptors.application = Self.entries(newValue) } }
    }

    /// The interceptors of this call alone that run once per hop, inside those of the client. The list is read when the call
    /// begins: one that an interceptor changes has no effect.
    public var networkInterceptors: [any HTTPDNSClient.Interceptor] {
        get { own?.interceptors.network.map(\.interceptor) ?? [] }
        set { changeOwn { own in own.interceptors.network = Self.entries(newValue) } }
    }

    private static func entries(_ interceptors: [any HTTPDNSClient.Interceptor]) -> [InterceptorEntry] {
        var entries: [InterceptorEntry] = []
        for interceptor in interceptors { entries.add(InterceptorEntry(interceptor)) }
        return entries
    }
}
