<?php
// Queries as plugins send them.
$posts = array(
    array( 's' => 'lorem banana' ),
    array( 's' => "l'été" ),
    array( 's' => '100%' ),
    array( 's' => 'under_score -apple', 'post_type' => 'any' ),
    array( 's' => 'text "word3 lorem"', 'orderby' => 'relevance' ),
    array( 'meta_key' => 'price', 'orderby' => 'meta_value_num', 'order' => 'DESC' ),
    array( 'meta_query' => array( array( 'key' => 'price', 'value' => array( 3, 20.5 ), 'compare' => 'BETWEEN', 'type' => 'DECIMAL(10,2)' ) ) ),
    array( 'meta_query' => array( 'relation' => 'OR', array( 'key' => 'color', 'value' => array( 'red', 'blue' ), 'compare' => 'IN' ), array( 'key' => 'none', 'compare' => 'EXISTS' ) ) ),
    array( 'meta_query' => array( array( 'key' => 'none', 'compare' => 'NOT EXISTS' ), array( 'key' => 'color', 'value' => 'ee', 'compare' => 'LIKE' ) ) ),
    array( 'meta_query' => array( array( 'key' => 'color', 'value' => '^[rg]', 'compare' => 'REGEXP' ) ) ),
    array( 'meta_query' => array( array( 'key' => '^pri', 'compare_key' => 'REGEXP', 'value' => 9, 'type' => 'SIGNED', 'compare' => '>=' ) ), 'orderby' => array( 'title' => 'ASC' ) ),
    array( 'meta_query' => array( 'c' => array( 'key' => 'color' ), 'p' => array( 'key' => 'price', 'type' => 'NUMERIC' ) ), 'orderby' => array( 'c' => 'ASC', 'p' => 'DESC' ) ),
    array( 'tax_query' => array( 'relation' => 'AND', array( 'taxonomy' => 'category', 'field' => 'slug', 'terms' => 'news' ), array( 'taxonomy' => 'post_tag', 'field' => 'name', 'terms' => array( 'tag1', 'tag2' ), 'operator' => 'NOT IN' ) ) ),
    array( 'tax_query' => array( array( 'taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => array( 'tag0', 'otag0' ), 'operator' => 'AND' ) ) ),
    array( 'tax_query' => array( array( 'taxonomy' => 'category', 'operator' => 'EXISTS' ) ), 'category_name' => 'straßen' ),
    array( 'date_query' => array( array( 'year' => 2019, 'month' => array( 2, 8 ), 'compare' => 'BETWEEN' ) ) ),
    array( 'date_query' => array( array( 'hour' => 9, 'minute' => 30, 'compare' => '>=' ), array( 'dayofweek' => array( 2, 6 ), 'compare' => 'BETWEEN' ) ) ),
    array( 'date_query' => array( array( 'week' => 10 ), array( 'dayofyear' => 70, 'compare' => '<' ), array( 'dayofweek_iso' => 1 ), 'relation' => 'OR' ) ),
    array( 'date_query' => array( array( 'after' => '2018-06-01', 'before' => '2020-03-01', 'inclusive' => true ) ), 'orderby' => 'comment_count date' ),
    array( 'author__not_in' => array( 1, 2 ), 'post__not_in' => array( 7, 9 ), 'orderby' => 'author title', 'order' => 'ASC' ),
    array( 'post__in' => array( 30, 8, 20 ), 'orderby' => 'post__in' ),
    array( 'post_name__in' => array( 'post-1-apfel', 'post-2-banana' ), 'fields' => 'id=>parent' ),
    array( 'post_parent' => 2, 'post_type' => 'page', 'orderby' => 'menu_order' ),
    array( 'comment_count' => array( 'value' => 1, 'compare' => '>=' ), 'has_password' => false ),
    array( 'm' => '201803', 'no_found_rows' => true ),
    array( 'posts_per_page' => 3, 'offset' => 4, 'post_status' => array( 'draft', 'private', 'future' ) ),
);
foreach ( $posts as $query ) {
    $found = new WP_Query( $query + array( 'posts_per_page' => 10, 'orderby' => 'ID' ) );
    echo $found->found_posts, ' ', implode( ',', wp_list_pluck( array_filter( $found->posts, 'is_object' ), 'ID' ) ), "\n";
}
foreach ( array( array( 'role' => 'editor' ), array( 'role__not_in' => array( 'author', 'editor' ), 'orderby' => 'email' ), array( 'search' => '*uthor*', 'count_total' => true ), array( 'has_published_posts' => true, 'orderby' => array( 'post_count' => 'ASC', 'login' => 'ASC' ) ), array( 'meta_key' => 'nickname2' ), array( 'capability' => 'edit_posts' ) ) as $query ) {
    $users = new WP_User_Query( $query + array( 'fields' => array( 'ID', 'user_login' ) ) );
    echo $users->get_total(), json_encode( $users->get_results() ), "\n";
}
foreach ( array( array( 'search' => 'Comment 1' ), array( 'meta_key' => 'rating', 'orderby' => 'meta_value_num' ), array( 'hierarchical' => 'threaded', 'post_id' => 11 ), array( 'status' => 'all', 'count' => true ), array( 'author__in' => array( 0 ), 'date_query' => array( 'after' => '2022-02-01' ), 'orderby' => 'comment_post_ID' ) ) as $query ) {
    $comments = ( new WP_Comment_Query() )->query( $query );
    echo is_array( $comments ) ? count( $comments ) : $comments, "\n";
}
foreach ( array( array( 'hide_empty' => false, 'orderby' => 'slug' ), array( 'name__like' => 'ä' ), array( 'search' => 'TAG1' ), array( 'object_ids' => array( 8, 9 ), 'orderby' => 'term_order' ), array( 'childless' => true, 'hierarchical' => false ), array( 'slug' => array( 'oeuvres', 'news' ), 'fields' => 'id=>slug' ), array( 'parent' => 0, 'number' => 3, 'offset' => 1, 'orderby' => 'name' ) ) as $query ) {
    echo json_encode( get_terms( $query ) ), "\n";
}
echo json_encode( array( wp_count_posts(), wp_count_comments(), count_users(), wp_count_terms(), get_available_post_statuses(), get_lastpostmodified(), get_page_by_path( 'page-1' ), get_page_by_title( 'Page 2' ), url_to_postid( 'http://blog.example/?p=8' ) ) );
get_terms( array( 'orderby' => 'count' ) );
do_action( 'wp_scheduled_delete' );
wp_cache_flush();
foreach ( array( 'CHECK', 'ANALYZE', 'REPAIR', 'OPTIMIZE' ) as $verb ) {
    $wpdb->query( "$verb TABLE $wpdb->posts" );
}
