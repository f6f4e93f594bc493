-- Revenue per customer in March
SELECT c.name, SUM(o.total) AS revenue
FROM customers c
LEFT JOIN orders o ON o.customer_id = c.id
WHERE o.created_at >= '2026-03-01' AND o.created_at < '2026-04-01'
  AND c.id NOT IN (SELECT customer_id FROM blocked)
GROUP BY c.name
HAVING SUM(o.total) > 100
ORDER BY revenue DESC
LIMIT 10;
